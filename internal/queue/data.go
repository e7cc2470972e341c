package queue

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// header is the first line of an entry's data, as JSON, for people and
// programs that look at a line. What the recipe adds follows the line break.
type header struct {
	Owner coord.Owner `json:"owner"`
	Since time.Time   `json:"since"`
}

// encoder writes entries' data. The owner is encoded once: it never changes.
type encoder struct{ prefix []byte }

func newEncoder(o coord.Owner) encoder {
	owner, err := json.Marshal(o)
	if err != nil { // an Owner is strings and a number
		panic(err)
	}
	return encoder{append(append([]byte(`{"owner":`), owner...), `,"since":"`...)}
}

func (e encoder) encode(since time.Time, value []byte) []byte {
	b := make([]byte, 0, len(e.prefix)+len(time.RFC3339Nano)+len("\"}\n")+len(value))
	b = append(b, e.prefix...)
	b = since.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, "\"}\n"...)
	return append(b, value...)
}

// contender reads an entry's data. Data that somebody else wrote still is an
// entry in the line; it just does not say whose.
func contender(n driver.Node) coord.Contender {
	var h header
	line, _, _ := bytes.Cut(n.Data, []byte("\n"))
	_ = json.Unmarshal(line, &h)
	return coord.Contender{Owner: h.Owner, Since: h.Since, Token: n.Token, Session: n.Session, Key: n.Key}
}
