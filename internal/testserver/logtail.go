package testserver

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// The most that is quoted of a server's log.
const (
	tailBytes = 4 << 10
	tailLines = 30
)

// logTail returns the last lines of the file at path, or why there are none.
func logTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	start := max(0, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, start, tailBytes))
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if start > 0 && len(lines) > 1 {
		lines = lines[1:] // its beginning is cut off
	}
	if cut := len(lines) - tailLines; cut > 0 {
		lines = lines[cut:]
	}
	if tail := bytes.Join(lines, []byte("\n")); len(tail) > 0 {
		return string(tail)
	}
	return "(the log is empty)"
}
