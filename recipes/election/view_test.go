package election

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// What an observer is shown of a line's states, each a list of entries: the
// token, then how the entry stands ("+" elected, "~" standing, nothing if it has
// just joined), then the value. A vacancy shows as "-".
func TestView(t *testing.T) {
	for _, c := range []struct{ name, states, want string }{
		{"nobody", "", "-"},
		{"nobody for long", "|||", "-"},
		{"elected when free", "1a", "1a"},
		{"joins while watched", "|1a", "- 1a"},
		{"proclaims", "1a|1+b|1+b|1+c", "1a 1b 1c"},
		{"announces what it has", "1a|1+a", "1a"},
		{"others join", "1a|1a 2~b|1a 2~b 3~c", "1a"},
		{"the next takes office", "1a 2~b|2~b|2+b", "1a - 2b"},
		{"merged", "1a 2~b|2+b", "1a - 2b"},
		{"merged further", "1a 2~b|4+d", "1a - 4d"},
		{"one comes after a merged gap", "1a|5e", "1a - 5e"},
		{"the next is gone before it takes office", "1a 2~b 3~c|2~b 3~c|3~c|3+c", "1a - 3c"},
		{"begins in a vacancy", "2~b|2+b", "- 2b"},
		{"begins in a vacancy that nobody fills", "2~b|", "-"},
		{"the same value of another", "1a|2+a", "1a - 2a"},
		{"a leader's note comes late", "1a 2b|2b|2~b|2+b", "1a - 2b"},
		{"what somebody else wrote", "1a|2?x", "1a - 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v view
			var got []string
			for state := range strings.SplitSeq(c.states, "|") {
				for _, o := range v.next(parseLine(t, state)) {
					word := "-"
					if !o.Vacant {
						word = fmt.Sprint(o.Leader.Token, string(o.Leader.Value))
					}
					got = append(got, word)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("shown: %s; want %s", s, c.want)
			}
		})
	}
}

func parseLine(t *testing.T, text string) (line []driver.Node) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		token := uint64(word[0] - '0')
		value := []byte(word[2:])
		var p poster
		switch word[1] {
		case '+':
			p = poster{elected, value}
		case '~':
			p = poster{standing, value}
		case '?':
			p = poster{"", nil}
		default:
			p = poster{candidate, []byte(word[1:])}
		}
		line = append(line, driver.Node{
			Key: fmt.Sprint("key-", token), Seq: token, Token: token,
			Data: append([]byte("{}\n"), p.encode()...),
		})
	}
	return line
}
