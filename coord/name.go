package coord

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/coordkit/coordkit/coord/driver"
)

// The limits of what users name and store. They are the same on every store,
// so that a program that runs on one runs on all. Names are counted in bytes
// before encoding, which at most triples them.
const (
	// MaxName is the longest name of a lock, election or other recipe.
	MaxName = 255

	// MaxNamespace is the longest namespace, with its slashes.
	MaxNamespace = 255

	// MaxValue is the most bytes of a value that a recipe stores with an
	// entry.
	MaxValue = 32 << 10
)

// Dir returns the directory in which a recipe of the given kind keeps the
// queue called name. It is for authors of recipes; kind is a constant of
// theirs, of lower-case letters.
//
// Any name of 1 to MaxName bytes is valid: Unicode, slashes, control bytes and
// bytes that are no UTF-8 too. ASCII letters, digits, "_", "-" and "." stand
// for themselves, except a leading dot; every other byte is written "%XX". So
// two names never share a directory and none lies within another's. The kind
// is set off by a colon, which no encoded name or namespace contains.
func Dir(kind, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%w name of a %s: it is empty; want 1 to %d bytes", ErrInvalid, kind, MaxName)
	}
	if len(name) > MaxName {
		return "", fmt.Errorf("%w name of a %s: %.20q… has %d bytes; want 1 to %d", ErrInvalid, kind, name, len(name), MaxName)
	}
	dir := kind + ":" + escape(name)
	if !driver.ValidDir(dir) {
		return "", fmt.Errorf("%w kind %q: want lower-case letters", ErrInvalid, kind)
	}
	return dir, nil
}

// namespaceDir encodes a namespace: segments separated by slashes, each
// encoded as a name is. Leading and trailing slashes do not count. An empty
// namespace is DefaultNamespace. White space around a segment is refused.
func namespaceDir(ns string) (string, error) {
	trimmed := strings.Trim(ns, "/")
	if len(trimmed) > MaxNamespace {
		return "", fmt.Errorf("%w namespace: %.20q… has %d bytes; want at most %d", ErrInvalid, trimmed, len(trimmed), MaxNamespace)
	}
	if trimmed == "" {
		return DefaultNamespace, nil
	}
	segments := strings.Split(trimmed, "/")
	for i, s := range segments {
		if s == "" {
			return "", fmt.Errorf("%w namespace %q: it has an empty segment", ErrInvalid, ns)
		}
		if stray(s) {
			return "", fmt.Errorf("%w namespace %q: the segment %q begins or ends with white space, or has a control character; "+
				"two programs whose namespaces differ in that would not share a lock", ErrInvalid, ns, s)
		}
		segments[i] = escape(s)
	}
	return strings.Join(segments, "/"), nil
}

// stray reports whether s holds what a file or a shell adds unseen: white space at an
// end, as the line break of a file, or a control character.
func stray(s string) bool {
	return strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl)
}

// escape writes s with the bytes that stand for themselves on every store. A
// leading dot is escaped because ZooKeeper gives "." and ".." a meaning and
// drivers keep their own names there.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
