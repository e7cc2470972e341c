package consul

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
)

// appendOps appends the body of a transaction, as package json would write its
// operations, without what is zero: an agent takes what is left out for that, and has
// less to read.
func appendOps(b []byte, ops []*api.KVTxnOp) []byte {
	b = append(b, '[')
	for i, op := range ops {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOp(b, op)
	}
	return append(b, ']')
}

func appendOp(b []byte, op *api.KVTxnOp) []byte {
	b = append(b, `{"KV":{"Verb":`...)
	b = appendText(b, string(op.Verb))
	b = append(b, `,"Key":`...)
	b = appendText(b, op.Key)
	if op.Value != nil {
		b = append(b, `,"Value":"`...)
		b = base64.StdEncoding.AppendEncode(b, op.Value)
		b = append(b, '"')
	}
	for _, f := range []struct {
		name  string
		value uint64
	}{{`,"Flags":`, op.Flags}, {`,"Index":`, op.Index}} {
		if f.value > 0 {
			b = append(b, f.name...)
			b = strconv.AppendUint(b, f.value, 10)
		}
	}
	for _, f := range []struct{ name, value string }{
		{`,"Session":`, op.Session}, {`,"Namespace":`, op.Namespace}, {`,"Partition":`, op.Partition},
	} {
		if f.value != "" {
			b = append(b, f.name...)
			b = appendText(b, f.value)
		}
	}
	return append(b, "}}"...)
}

// appendText appends a string of JSON.
func appendText(b []byte, s string) []byte {
	if !isPlain(s) || strings.ContainsAny(s, `"\\`) {
		quoted, _ := json.Marshal(s) // a string is never refused
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// isPlain reports whether a text is printable and of ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
