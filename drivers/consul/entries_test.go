package consul

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"
)

// What agents answer with.
var (
	listed = []string{
		`[{"LockIndex":1,"Key":"d/1","Flags":0,"Value":"eHg=","Session":"` + someSession + `","CreateIndex":8,"ModifyIndex":8}]`,
		`[{"LockIndex":0,"Key":"d/1","Flags":18446744073709551615,"Value":null,"CreateIndex":8,"ModifyIndex":9},` +
			`{"LockIndex":0,"Key":"d/2","Flags":0,"Value":"","CreateIndex":10,"ModifyIndex":1234567890123456789}]` + "\n",
		`[]`,
		`null`,
		`[null]`,
		`[ {"Key": "\u00e4\"", "key": "x", "Namespace": "team", "Partition": "p"} ] and more`,
	}
	found = []string{
		`{"Results":[{"KV":{"LockIndex":1,"Key":"d/1","Flags":0,"Value":null,"Session":"` + someSession + `","CreateIndex":8,"ModifyIndex":8}}],"Errors":null}`,
		`{"Results":[{"KV":{"LockIndex":1,"Key":"d/1","Flags":0,"Value":"eHg=","CreateIndex":8,"ModifyIndex":8}}],"Errors":null,"Index":1,"LastContact":0,` +
			`"KnownLeader":true,"ConsistencyLevel":"","NotModified":false,"Backend":0,"ResultsFilteredByACLs":true}`,
		`{"Results":[],"Errors":null}`,
		`{"Results":null,"Errors":null}`,
		`{"Results":[{"KV":null},null],"Errors":[]}`,
		`{}`,
	}
)

// What agents answer with usually is not left to package json.
func TestUsualAnswersAreScanned(t *testing.T) {
	for _, body := range []string{listed[0], `[]`, strings.Replace(listed[1], "18446744073709551615", "5", 1)} {
		s := scanner{in: []byte(body)}
		if s.entries(s.entry); !s.over() {
			t.Errorf("%s is not scanned: %s is left", body, s.in)
		}
	}
	for _, body := range found[:3] {
		s := scanner{in: []byte(body)}
		if s.findings(); !s.over() {
			t.Errorf("%s is not scanned: %s is left", body, s.in)
		}
	}
}

// The scanner takes nothing for what it is not: what it reads package json reads alike.
func TestScannerAgreesWithJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range 50_000 {
		list := random.IntN(2) == 0
		seeds := found
		if list {
			seeds = listed
		}
		body := mutated(random, seeds)
		s := scanner{in: body}
		var got, want any
		var err error
		if list {
			var kvs api.KVPairs
			got = api.KVPairs(s.entries(s.entry))
			err = decode(body, &kvs)
			want = kvs
		} else {
			var all transacted
			got = s.findings()
			err = decode(body, &all)
			want = all.findings()
		}
		if !s.over() {
			continue
		}
		accepted++
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as %s; want %s, %v", body, shown(t, got), shown(t, want), err)
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d were scanned", accepted)
	}
}

// mutated returns one of the seeds with a few bytes changed.
func mutated(random *rand.Rand, seeds []string) []byte {
	const odd = "\"\\{}[]:,019.eE-+ntruefalsKV =/\x00\x80\n\r\t"
	b := []byte(seeds[random.IntN(len(seeds))])
	for range random.IntN(4) {
		i := random.IntN(len(b))
		switch random.IntN(4) {
		case 0:
			b[i] = odd[random.IntN(len(odd))]
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			b = append(b[:i], b[random.IntN(i+1):]...)
		case 3:
			other := seeds[random.IntN(len(seeds))]
			b = append(b[:i:i], other[random.IntN(len(other)):]...)
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

func shown(t *testing.T, v any) string {
	t.Helper()
	if f, ok := v.(findings); ok {
		v = map[string]any{"found": f.found, "filtered": f.filtered}
	}
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// Nor is what the scanner leaves to package json read otherwise than it was.
func TestUnusualAnswers(t *testing.T) {
	for _, body := range listed {
		var want api.KVPairs
		must(t, decode([]byte(body), &want))
		if body == `[null]` { // as good as none
			want = nil
		}
		got, err := readEntries([]byte(body))
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %s, %v", body, shown(t, got), err)
		}
	}
	for i, body := range found {
		got, err := readFindings([]byte(body))
		if want := []int{1, 1, 0, 0, 0, 0}[i]; err != nil || got.found == nil || len(got.found) != want || got.filtered != (i == 1) {
			t.Errorf("%s is read as %s, %v", body, shown(t, got), err)
		}
	}
	for _, body := range []string{"", "what is this", "true", `{"Results":[{"KV":{"Key":"d`, `[{"Key":7}]`, `<html>`} {
		if got, err := readEntries([]byte(body)); err == nil {
			t.Errorf("%q is read as %s", body, shown(t, got))
		}
		if got, err := readFindings([]byte(body)); err == nil {
			t.Errorf("%q is read as %s", body, shown(t, got))
		}
	}
}
