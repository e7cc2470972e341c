package consul

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/hashicorp/consul/api"
)

// The answers of agents are read by a scanner, which knows how they look. What does not
// look so is left to package json, which knows everything, and takes its time for it.

// readEntries reads the answer to a list.
func readEntries(body []byte) (api.KVPairs, error) {
	s := scanner{in: body}
	if kvs := s.entries(s.entry); s.over() {
		return kvs, nil
	}
	var kvs api.KVPairs
	err := decode(body, &kvs)
	return slices.DeleteFunc(kvs, func(kv *api.KVPair) bool { return kv == nil }), err
}

// readFindings reads the answer to a transaction that was made.
func readFindings(body []byte) (findings, error) {
	s := scanner{in: body}
	if found := s.findings(); s.over() {
		return found, nil
	}
	var found transacted
	err := decode(body, &found)
	return found.findings(), err
}

// decode is as package api has it: what comes after the value does not matter.
func decode(body []byte, v any) error { return json.NewDecoder(bytes.NewReader(body)).Decode(v) }

// transacted is the answer to a transaction that was made.
type transacted struct {
	Results               []struct{ KV *api.KVPair }
	ResultsFilteredByACLs bool
}

func (t *transacted) findings() findings {
	o := findings{found: make([]*api.KVPair, 0, len(t.Results)), filtered: t.ResultsFilteredByACLs}
	for _, r := range t.Results {
		if r.KV != nil {
			o.found = append(o.found, r.KV)
		}
	}
	return o
}

// scanner reads JSON of a known form, without spaces and with strings of printable
// ASCII that need no escapes.
type scanner struct {
	in     []byte // what was not read yet
	failed bool   // it has another form
}

// over reports whether all was read.
func (s *scanner) over() bool { return !s.failed && len(bytes.TrimSpace(s.in)) == 0 }

// is reads what is next if it is that.
func (s *scanner) is(next string) bool {
	if s.failed || len(s.in) < len(next) || string(s.in[:len(next)]) != next {
		return false
	}
	s.in = s.in[len(next):]
	return true
}

// want reads what has to be next.
func (s *scanner) want(next string) { s.failed = !s.is(next) || s.failed }

// text reads a string.
func (s *scanner) text() (t []byte) {
	s.want(`"`)
	for i := 0; i < len(s.in) && !s.failed; i++ {
		switch c := s.in[i]; {
		case c == '"':
			t, s.in = s.in[:i], s.in[i+1:]
			return t
		case c < ' ', c > '~', c == '\\':
			s.failed = true
		}
	}
	s.failed = true
	return nil
}

// number reads one that is no greater than fits in any case.
func (s *scanner) number() (n uint64) {
	i := 0
	for ; i < len(s.in) && '0' <= s.in[i] && s.in[i] <= '9'; i++ {
		n = 10*n + uint64(s.in[i]-'0')
	}
	if i == 0 || i > 19 || i > 1 && s.in[0] == '0' {
		s.failed = true
	}
	s.in = s.in[i:]
	return n
}

// bytes reads data.
func (s *scanner) bytes() []byte {
	if s.is("null") {
		return nil
	}
	t := s.text()
	data := make([]byte, base64.StdEncoding.DecodedLen(len(t)))
	n, err := base64.StdEncoding.Decode(data, t)
	s.failed = s.failed || err != nil
	return data[:n]
}

// flag reads a boolean.
func (s *scanner) flag() bool {
	if s.is("true") {
		return true
	}
	s.want("false")
	return false
}

// fields reads an object by a function that reads the value of a field.
func (s *scanner) fields(value func(name string)) {
	for s.want("{"); !s.failed; {
		name := s.text()
		s.want(":")
		value(string(name))
		if s.is("}") {
			return
		}
		s.want(",")
	}
}

// entries reads a list of entries by a function that reads one.
func (s *scanner) entries(one func() *api.KVPair) (kvs []*api.KVPair) {
	s.want("[")
	if s.is("]") {
		return []*api.KVPair{}
	}
	for !s.failed {
		kvs = append(kvs, one())
		if s.is("]") {
			return kvs
		}
		s.want(",")
	}
	return nil
}

func (s *scanner) entry() *api.KVPair {
	kv := new(api.KVPair)
	s.fields(func(name string) {
		switch name {
		case "LockIndex":
			kv.LockIndex = s.number()
		case "Key":
			kv.Key = string(s.text())
		case "Flags":
			kv.Flags = s.number()
		case "Value":
			kv.Value = s.bytes()
		case "Session":
			kv.Session = string(s.text())
		case "CreateIndex":
			kv.CreateIndex = s.number()
		case "ModifyIndex":
			kv.ModifyIndex = s.number()
		default:
			s.failed = true
		}
	})
	return kv
}

func (s *scanner) findings() (o findings) {
	s.fields(func(name string) {
		switch name {
		case "Results":
			s.failed = s.failed || o.found != nil
			o.found = s.entries(s.result)
		case "Errors":
			s.want("null")
		case "ResultsFilteredByACLs":
			o.filtered = s.flag()
		case "Index", "LastContact", "Backend":
			s.number()
		case "KnownLeader", "NotModified":
			s.flag()
		case "ConsistencyLevel":
			s.text()
		default:
			s.failed = true
		}
	})
	s.failed = s.failed || o.found == nil
	return o
}

func (s *scanner) result() *api.KVPair {
	s.want(`{"KV":`)
	kv := s.entry()
	s.want("}")
	return kv
}
