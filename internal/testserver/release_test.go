package testserver

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mended makes an archive of the recorded packages, of which one was replaced.
// It returns where the jars taken from it are.
func mended(t *testing.T, name, version string) (jars string) {
	t.Helper()
	a := newArchive(t)
	var packages []debPackage
	for _, p := range zookeeperPackages {
		files := map[string]string{"zookeeper-3.8.0.jar": ""} // in one of them at least
		for _, jar := range p.jars {
			files[jar+".jar"] = jar
		}
		if p.name == name {
			a.pack(t, p.name, version, files)
		} else {
			p.sha256 = a.pack(t, p.name, p.version, files)
		}
		packages = append(packages, p)
	}
	root, system := t.TempDir(), t.TempDir()
	jars, err := zookeeperArtifact(system, packages).get(patient(t), root, &bytes.Buffer{})
	must(t, err)
	newArchive(t) // an empty one: nothing can be downloaded again
	again, err := zookeeperArtifact(system, packages).get(patient(t), root, &bytes.Buffer{})
	must(t, err)
	if again != jars {
		t.Errorf("%s, and then %s", jars, again)
	}
	return jars
}

// The directory is named by what was taken, and what is not as recorded is told.
func TestJarsAreNamedByWhatWasTaken(t *testing.T) {
	for _, tt := range []struct {
		name, version string // that is in the archive
		dir           string
		instead       string
	}{
		{"libzookeeper-java", "3.8.0-11+deb12u9", "zookeeper-3.8.0-11+deb12u9-", "libzookeeper-java 3.8.0-11+deb12u9, recorded is 3.8.0-11+deb12u2"},
		{"libsnappy-java", "1.1.8.3-2", "zookeeper-3.8.0-11+deb12u2-", "libsnappy-java 1.1.8.3-2, recorded is 1.1.8.3-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jars := mended(t, tt.name, tt.version)
			if name := filepath.Base(jars); !strings.HasPrefix(name, tt.dir) {
				t.Errorf("the directory is %s; want %s…", name, tt.dir)
			}
			all, err := readTaken(jars)
			must(t, err)
			if got := all.instead(zookeeperPackages); !slices.Equal(got, []string{tt.instead}) {
				t.Errorf("instead of what is recorded there is %q; want %q", got, tt.instead)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	for _, other := range []string{EnvEtcd, EnvZooKeeper, EnvPostgres, EnvMariaDB, EnvPgBouncer, EnvConsul} {
		t.Setenv(other, "")
	}
	all, err := Releases(patient(t), &bytes.Buffer{})
	must(t, err)
	var servers []string
	for _, r := range all {
		servers = append(servers, r.Server)
		if r.Version == "" || r.Version == unknown || !exists(r.Path) {
			t.Errorf("%+v; want a version and a path", r)
		}
		if built := r.Server == "etcd" || r.Server == "consul"; built && len(r.Instead) > 0 { // Debian may have mended the others
			t.Errorf("%+v; it was built as recorded", r)
		}
	}
	if want := []string{"etcd", "zookeeper", "postgres", "mariadb", "pgbouncer", "consul"}; !slices.Equal(servers, want) {
		t.Errorf("got %v, want %v", servers, want)
	}
}

// What is named by the environment is told by what it was built from, and that it
// is not the recorded one.
func TestReleaseOfAnotherServer(t *testing.T) {
	script := filepath.Join(t.TempDir(), "etcd")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	jars := installed(t, "3.9.3")
	t.Setenv(EnvEtcd, script)
	t.Setenv(EnvZooKeeper, jars)
	for want, get := range map[string]func() (Release, error){
		"etcd unknown, recorded is v":      func() (Release, error) { return etcdServer.release(context.Background(), &bytes.Buffer{}) },
		"zookeeper 3.9.3, recorded is 3.8": func() (Release, error) { return zookeeperRelease(context.Background(), &bytes.Buffer{}) },
	} {
		r, err := get()
		must(t, err)
		if len(r.Instead) != 1 || !strings.HasPrefix(r.Instead[0], want) {
			t.Errorf("%+v; want that it says %q", r, want)
		}
	}
}

func TestBuiltFrom(t *testing.T) {
	shell, err := exec.LookPath("sh")
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	for _, path := range []string{self, shell, "/nonexistent"} {
		if v := builtFrom(path, "example.com/none"); v != unknown {
			t.Errorf("%s has version %q of a module that there is not", path, v)
		}
	}
}
