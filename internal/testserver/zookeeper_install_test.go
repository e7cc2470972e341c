package testserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installed makes a directory as it is on a machine with the packages, of a
// version of ZooKeeper.
func installed(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "zookeeper-"+version+".jar"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "unrelated.jar"), nil, 0o644))
	for _, p := range zookeeperPackages {
		for _, jar := range p.jars {
			must(t, os.WriteFile(filepath.Join(dir, jar+".jar"), []byte(jar), 0o644))
		}
	}
	return dir
}

func TestInstalledJarsAreTaken(t *testing.T) {
	newArchive(t) // an empty one: nothing can be downloaded
	jars, err := zookeeperArtifact(installed(t, "3.8.4"), zookeeperPackages).get(patient(t), t.TempDir(), &bytes.Buffer{})
	must(t, err)
	if got, err := os.ReadFile(filepath.Join(jars, "zookeeper.jar")); string(got) != "zookeeper" {
		t.Errorf("zookeeper.jar holds %q, %v", got, err)
	}
	files, err := os.ReadDir(jars)
	must(t, err)
	want := 1 // takenFile
	for _, p := range zookeeperPackages {
		want += len(p.jars)
	}
	if len(files) != want {
		t.Errorf("got the files %v, want the %d of the packages and no other", files, want)
	}
	if name := filepath.Base(jars); !strings.HasPrefix(name, "zookeeper-3.8.4-") {
		t.Errorf("the directory is named %s; want the version in it", name)
	}
}

// Another series, or a part of the jars, is no installation.
func TestOtherJarsAreNotTaken(t *testing.T) {
	incomplete := installed(t, "3.8.0")
	must(t, os.Remove(filepath.Join(incomplete, "netty-codec.jar")))
	for name, dir := range map[string]string{"another series": installed(t, "3.9.3"), "incomplete": incomplete, "none": t.TempDir()} {
		newArchive(t)
		root := t.TempDir()
		var progress bytes.Buffer
		_, err := zookeeperArtifact(dir, zookeeperPackages).get(patient(t), root, &progress)
		if err == nil || !strings.Contains(err.Error(), "libzookeeper-java_3.8.0") {
			t.Errorf("%s: %v, expected that the packages are wanted", name, err)
		}
		left, err := os.ReadDir(filepath.Join(root, cacheDir))
		must(t, err)
		if len(left) != 1 || left[0].Name() != "zookeeper.lock" {
			t.Errorf("%s: the cache holds %v, want the lock alone", name, left)
		}
	}
}

func TestReadyJarsAreTaken(t *testing.T) {
	dir := installed(t, "3.9.3")
	t.Setenv(EnvZooKeeper, dir)
	got, err := ZooKeeperJars(t.Context(), &bytes.Buffer{})
	must(t, err)
	if got != dir {
		t.Errorf("got %s, want %s", got, dir)
	}
	t.Setenv(EnvZooKeeper, t.TempDir())
	if _, err := ZooKeeperJars(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), EnvZooKeeper) {
		t.Errorf("a directory without jars: %v, expected an error that names %s", err, EnvZooKeeper)
	}
}

func TestMissingJavaIsAnError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := NewZooKeeper(t.Context(), ZooKeeperOptions{}); err == nil || !strings.Contains(err.Error(), "default-jre-headless") {
		t.Errorf("without Java: %v, expected an error that says what to install", err)
	}
}
