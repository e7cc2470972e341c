package testserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// archive is a directory of packages that an apt-get of the test's own serves.
type archive string

func newArchive(t *testing.T) archive {
	bin, packages := t.TempDir(), t.TempDir()
	script := `#!/bin/sh
[ "$1" = download ] || exit 0
case "$2" in
*=*) name=$(echo "$2" | tr = _) ;;
*) name="$2_*" ;;
esac
cp ` + packages + `/$name.deb .
`
	must(t, os.WriteFile(filepath.Join(bin, "apt-get"), []byte(script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return archive(packages)
}

// add puts a package with one jar into the archive and returns its checksum.
func (a archive) add(t *testing.T, name, version, content string) string {
	t.Helper()
	return a.pack(t, name, version, map[string]string{name + "-of.jar": content})
}

// pack puts a package with jars into the archive and returns its checksum.
func (a archive) pack(t *testing.T, name, version string, jars map[string]string) string {
	t.Helper()
	return a.packFor(t, "all", name, version, jars)
}

// packFor puts a package for an architecture into the archive.
func (a archive) packFor(t *testing.T, architecture, name, version string, jars map[string]string) string {
	t.Helper()
	tree := t.TempDir()
	files := map[string]string{
		"DEBIAN/control": fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: nobody\nDescription: none\n", name, version, architecture),
	}
	for jar, content := range jars {
		files["usr/share/java/"+jar] = content
	}
	for path, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(tree, path), []byte(text), 0o644))
	}
	file := filepath.Join(string(a), name+"_"+version+".deb")
	if said, err := exec.Command("dpkg-deb", "--build", tree, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	deb, err := os.ReadFile(file)
	must(t, err)
	sum := sha256.Sum256(deb)
	return hex.EncodeToString(sum[:])
}

func TestPackagesAreTakenAsRecorded(t *testing.T) {
	a := newArchive(t)
	recorded := []debPackage{
		{name: "one", version: "1.0-1", sha256: a.add(t, "one", "1.0-1", "first")},
		{name: "two", version: "2.0-1", sha256: a.add(t, "two", "2.0-1", "second")},
	}
	a.add(t, "two", "2.0-2", "later")
	root := filepath.Join(t.TempDir(), "root")
	var progress bytes.Buffer
	must(t, unpackPackages(patient(t), recorded, root, t.TempDir(), &progress))
	for name, want := range map[string]string{"one": "first", "two": "second"} {
		got, err := os.ReadFile(filepath.Join(root, systemJars, name+"-of.jar"))
		must(t, err)
		if string(got) != want {
			t.Errorf("package %s holds %q, want %q", name, got, want)
		}
	}
	if strings.Contains(progress.String(), "is gone") {
		t.Errorf("told of a change that is none: %s", &progress)
	}
}

// An archive that has mended a package has no other version of it.
func TestSuccessorOfARecordedPackageIsTaken(t *testing.T) {
	a := newArchive(t)
	a.add(t, "one", "1.0-2", "mended")
	root := filepath.Join(t.TempDir(), "root")
	var progress bytes.Buffer
	must(t, unpackPackages(patient(t), []debPackage{{name: "one", version: "1.0-1"}}, root, t.TempDir(), &progress))
	if got, err := os.ReadFile(filepath.Join(root, systemJars, "one-of.jar")); string(got) != "mended" {
		t.Errorf("the package holds %q, %v", got, err)
	}
	if want := "one is 1.0-2 now, the recorded 1.0-1 is gone"; !strings.Contains(progress.String(), want) {
		t.Errorf("progress was told %q, expected %q in it", &progress, want)
	}
}

func TestForgedPackageIsRefused(t *testing.T) {
	a := newArchive(t)
	sum := a.add(t, "one", "1.0-1", "forged")
	recorded := debPackage{name: "one", version: "1.0-1", sha256: strings.Repeat("0", 64)}
	root := filepath.Join(t.TempDir(), "root")
	err := unpackPackages(patient(t), []debPackage{recorded}, root, t.TempDir(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), sum) || !strings.Contains(err.Error(), recorded.sha256) {
		t.Errorf("unpack: %v, expected an error with both checksums", err)
	}
	if exists(root) {
		t.Error("it was unpacked")
	}
}

// The checksums are those of one architecture.
func TestPackageOfAnotherArchitecture(t *testing.T) {
	for architecture, refused := range map[string]bool{"amd64": true, "arm64": false} {
		a := newArchive(t)
		a.packFor(t, architecture, "one", "1.0-1", nil)
		recorded := debPackage{name: "one", version: "1.0-1", sha256: strings.Repeat("0", 64)}
		err := unpackPackages(patient(t), []debPackage{recorded}, filepath.Join(t.TempDir(), "root"), t.TempDir(), &bytes.Buffer{})
		if refused != (err != nil) {
			t.Errorf("a package of %s with another checksum: %v", architecture, err)
		}
	}
}

func TestMissingPackageIsAnError(t *testing.T) {
	newArchive(t)
	err := unpackPackages(patient(t), []debPackage{{name: "one", version: "1.0-1"}}, t.TempDir(), t.TempDir(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "one_1.0-1.deb") {
		t.Errorf("unpack: %v, expected the words of apt-get", err)
	}
	t.Setenv("PATH", t.TempDir())
	err = unpackPackages(patient(t), []debPackage{{name: "one"}}, t.TempDir(), t.TempDir(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "apt-get") {
		t.Errorf("without apt-get: %v, expected an error that names it", err)
	}
}

// What others unpack is kept in the repository that the caller works in.
func TestUnpackedIsKept(t *testing.T) {
	a := newArchive(t)
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+rootModule+"\n"), 0o644))
	t.Chdir(root)
	packages := []DebianPackage{{Name: "one", Version: "1.0-1", SHA256: a.add(t, "one", "1.0-1", "first")}}
	var progress bytes.Buffer
	dir, err := Unpacked(patient(t), "ones", packages, &progress)
	must(t, err)
	if got, err := os.ReadFile(filepath.Join(dir, systemJars, "one-of.jar")); string(got) != "first" {
		t.Errorf("the package holds %q, %v", got, err)
	}
	if !strings.HasPrefix(dir, filepath.Join(root, cacheDir, "ones-")) {
		t.Errorf("it is in %s, want below %s", dir, filepath.Join(root, cacheDir))
	}
	newArchive(t) // an empty one: nothing can be downloaded again
	if again, err := Unpacked(patient(t), "ones", packages, &progress); again != dir || err != nil {
		t.Errorf("the second time: %s, %v, want %s", again, err, dir)
	}
	packages[0].SHA256 = strings.Repeat("0", 64)
	if _, err := Unpacked(patient(t), "ones", packages, &progress); err == nil || !strings.Contains(err.Error(), "packages of ones") {
		t.Errorf("another list of packages: %v, expected an error that tells whose packages cannot be had", err)
	}
}
