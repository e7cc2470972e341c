package driver

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
