package driver

import (
	"fmt"
	"strings"
)

// MaxDir is the most bytes of a directory's name, as drivers see it.
const MaxDir = 800

// ValidDir reports whether dir has the form that drivers are given, as the
// package comment says.
func ValidDir(dir string) bool {
	if dir == "" || len(dir) > MaxDir || dir[0] == '.' {
		return false
	}
	for i := range len(dir) {
		if c := dir[i]; !isAlnum(c) && c != '_' && c != '-' && c != '.' && c != ':' && c != '%' {
			return false
		}
	}
	return true
}

// ValidID reports whether id has the form that drivers are given: one to
// sixteen ASCII letters or digits.
func ValidID(id string) bool {
	if id == "" || len(id) > 16 {
		return false
	}
	for i := range len(id) {
		if !isAlnum(id[i]) {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// DefaultNamespace is what an empty namespace stands for.
const DefaultNamespace = "coordkit"

// Namespace checks a namespace that a program gives to a driver's New, where no
// URL has been read that would have encoded it: path segments joined by slashes,
// each of the form that ValidDir wants. Slashes around them do not count, and no
// segment at all is DefaultNamespace. Otherwise the error Is ErrInvalid.
func Namespace(ns string) (string, error) {
	trimmed := strings.Trim(ns, "/")
	if trimmed == "" {
		return DefaultNamespace, nil
	}
	for segment := range strings.SplitSeq(trimmed, "/") {
		if !ValidDir(segment) {
			return "", fmt.Errorf("%w namespace %.80q: the segment %.40q is not of letters, digits and \"_-.:%%\", or begins with a dot", ErrInvalid, ns, segment)
		}
	}
	return trimmed, nil
}
