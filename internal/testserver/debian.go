package testserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
)

// DebianPackage names a package of Debian 12.
type DebianPackage struct {
	// Name is the package's name.
	Name string
	// Version is the recorded version. If the archive has it no more its
	// successor is taken.
	Version string
	// SHA256 is the checksum of the recorded version's file, in hexadecimal; of
	// amd64 if the package has one for each architecture.
	SHA256 string
}

// Unpacked returns a directory that holds what the packages would install below
// the file system's root. It is made from the machine's Debian archives first,
// below the repository's root, unless it is there, which takes some seconds, and
// progress is told about it. Only the packages named are taken, not those they
// depend on; nothing is installed, and none of their scripts runs. The name is a
// part of the directory's; another list of packages gives another directory.
// Several processes may ask at once; ctx bounds the wait and the download.
func Unpacked(ctx context.Context, name string, packages []DebianPackage, progress io.Writer) (string, error) {
	hash := sha256.Sum256(fmt.Append(nil, packages))
	path := ""
	root, err := repositoryRoot()
	if err == nil {
		path, err = artifact{
			server: name,
			target: fmt.Sprintf("%s-%x", name, hash[:6]),
			make: func(ctx context.Context, scratch string, progress io.Writer) (string, error) {
				unpacked := filepath.Join(scratch, "root")
				return unpacked, unpackPackages(ctx, asDebs(packages), unpacked, scratch, progress)
			},
		}.get(ctx, root, progress)
	}
	if err != nil {
		return "", fmt.Errorf("unpack the packages of %s: %w", name, err)
	}
	return path, nil
}

func asDebs(packages []DebianPackage) (debs []debPackage) {
	for _, p := range packages {
		debs = append(debs, debPackage{name: p.Name, version: p.Version, sha256: p.SHA256})
	}
	return debs
}
