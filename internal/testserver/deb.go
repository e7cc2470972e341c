package testserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// recordedArchitecture is that of the files whose checksums are recorded.
const recordedArchitecture = "amd64"

// debPackage is a Debian package that is unpacked, not installed.
type debPackage struct {
	name    string
	version string   // the recorded one
	sha256  string   // of the recorded version's file, in hexadecimal
	jars    []string // those needed, by name without .jar
}

// unpackPackages downloads the packages and unpacks them below root. It uses the
// directory scratch for what the download takes, and needs no privileges.
//
// Each package is taken in its recorded version as long as the archive has that,
// and then its content is compared. A stable release of Debian drops a version
// only for a mended one, often for its security. So if the recorded one is gone
// its successor is taken, with a word to progress, rather than that every test
// fails until somebody has updated the record: apt accepts only what Debian's
// keys vouch for. What was taken is written to the file takenFile in root.
func unpackPackages(ctx context.Context, packages []debPackage, root, scratch string, progress io.Writer) error {
	a := &apt{tool: tool{dir: scratch, env: append(os.Environ(), "LC_ALL=C"), progress: progress}}
	if err := a.update(ctx); err != nil {
		return err
	}
	var all taken
	for _, p := range packages {
		file, err := a.download(ctx, p)
		if err != nil {
			return err
		}
		version, err := p.verify(ctx, file, progress)
		if err != nil {
			return err
		}
		if err := a.tool.run(ctx, "dpkg-deb", "-x", file, root); err != nil {
			return err
		}
		all = append(all, takenPackage{p.name, version})
	}
	return all.write(root)
}

// verify compares the package's file with the record, and returns its version.
func (p debPackage) verify(ctx context.Context, file string, progress io.Writer) (version string, err error) {
	said, err := exec.CommandContext(ctx, "dpkg-deb", "--show", "--showformat=${Version} ${Architecture}", file).Output()
	if err != nil {
		return "", fmt.Errorf("dpkg-deb --show %s: %w", file, err)
	}
	version, architecture, _ := strings.Cut(string(said), " ")
	if version != p.version {
		fmt.Fprintf(progress, "%s is %s now, the recorded %s is gone from the archive\n", p.name, version, p.version)
		return version, nil
	}
	if architecture != "all" && architecture != recordedArchitecture {
		return version, nil // apt has compared it with the archive's checksum
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != p.sha256 {
		return "", fmt.Errorf("package %s %s has the SHA256 %s, expected the recorded %s", p.name, p.version, got, p.sha256)
	}
	return version, nil
}

// apt runs apt-get with a state of its own in the tool's directory. So it needs
// no root, waits for no other apt-get, and leaves the machine's state alone. The
// archives are those that the machine is set up with.
type apt struct{ tool tool }

func (a *apt) run(ctx context.Context, dir string, args ...string) error {
	in := func(name string) string { return filepath.Join(a.tool.dir, "apt", name) }
	for _, option := range []string{
		"Dir::State=" + in("state"),
		"Dir::State::Status=/var/lib/dpkg/status",
		"Dir::Cache=" + in("cache"),
		// Root's downloads would otherwise be made by a user who may have no
		// access to this directory.
		"APT::Sandbox::User=root",
		"Acquire::Languages=none",
		"Acquire::Retries=3",
		"Acquire::AllowInsecureRepositories=false",
		"APT::Get::AllowUnauthenticated=false",
	} {
		args = append(args, "-o", option)
	}
	t := a.tool
	t.dir = dir
	return t.run(ctx, "apt-get", args...)
}

// update downloads and verifies the lists of packages.
func (a *apt) update(ctx context.Context) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this is done from Debian's packages: %w", err)
	}
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.tool.dir, "apt", dir), 0o755); err != nil {
			return err
		}
	}
	return a.run(ctx, a.tool.dir, "update")
}

// download downloads the package, in the recorded version if the archive has it,
// and returns the file's path.
func (a *apt) download(ctx context.Context, p debPackage) (string, error) {
	dir := filepath.Join(a.tool.dir, p.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	recorded := a.run(ctx, dir, "download", p.name+"="+p.version)
	if recorded != nil {
		if latest := a.run(ctx, dir, "download", p.name); latest != nil {
			return "", errors.Join(recorded, latest)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("apt-get download %s: it left the files %v, expected one package", p.name, files)
	}
	return files[0], nil
}
