package coord_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

func TestDirOfName(t *testing.T) {
	tests := []struct{ name, want string }{
		{"deploy", "mutex:deploy"},
		{"a/b", "mutex:a%2Fb"},
		{"a%2Fb", "mutex:a%252Fb"},
		{"..", "mutex:%2E."},
		{"v1.2", "mutex:v1.2"},
		{"ключ", "mutex:%D0%BA%D0%BB%D1%8E%D1%87"},
		{"\x00\xff", "mutex:%00%FF"},
		{"a:b c", "mutex:a%3Ab%20c"},
	}
	for _, tt := range tests {
		if got, err := coord.Dir("mutex", tt.name); got != tt.want || err != nil {
			t.Errorf("Dir(%q) = %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestInvalidNames(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("x", coord.MaxName+1)} {
		_, err := coord.Dir("mutex", name)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "1 to 255") {
			t.Errorf("Dir of %d bytes: %v", len(name), err)
		}
	}
	if _, err := coord.Dir("mutex", strings.Repeat("/", coord.MaxName)); err != nil {
		t.Errorf("the longest name of bytes that are all encoded: %v", err)
	}
}

// Two names share a directory only if they are one, and every directory has
// the form that drivers were promised.
func FuzzNames(f *testing.F) {
	f.Add("a", "b")
	f.Add("a/b", "a%2Fb")
	f.Add(".", "..")
	f.Add("\xff", "�")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := coord.Dir("mutex", a)
		if err != nil {
			if a != "" && len(a) <= coord.MaxName {
				t.Fatalf("Dir(%q): %v", a, err)
			}
			return
		}
		if !driver.ValidDir(x) {
			t.Fatalf("Dir(%q) = %q, which is not valid", a, x)
		}
		if y, err := coord.Dir("mutex", b); err == nil && (x == y) != (a == b) {
			t.Fatalf("%q and %q share the directory %q", a, b, x)
		}
		if y, err := coord.Dir("election", a); err != nil || x == y {
			t.Fatalf("a mutex and an election share %q", x)
		}
	})
}
