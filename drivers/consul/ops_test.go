package consul

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// everyOp has each kind of operation that the driver uses.
func everyOp(key, session string, value []byte, index uint64) []*api.KVTxnOp {
	return []*api.KVTxnOp{
		unless(key), ifIndex(key, index), ifHeldBy(key, session), lock(key, session, value),
		replace(key, index, value), removeSame(key, index), remove(key), tree(key),
	}
}

// An agent takes what is written for what package api would have written.
func TestOperationsAreReadAsTheyAre(t *testing.T) {
	texts := []string{"", "a/b-1", `"`, `\`, "a\"b\\c", "tab\tnew\nline\x00\x1f\x7f", "<&>", "ünï/語\u2028\U0001f600", "\xff\xfe", "100%25 =", strings.Repeat("k", 5000)}
	values := [][]byte{nil, {}, {0}, []byte("data"), []byte("\xff\x00\"\\"), bytes.Repeat([]byte{7}, 1<<16)}
	indexes := []uint64{0, 1, 1<<53 + 1, math.MaxUint64}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return texts[random.IntN(len(texts))] }
	for range 2000 {
		ops := everyOp(pick(), pick(), values[random.IntN(len(values))], indexes[random.IntN(len(indexes))])
		random.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		ops = ops[:1+random.IntN(len(ops))]
		var body api.TxnOps
		for _, op := range ops {
			if random.IntN(2) == 0 {
				op.Namespace, op.Partition = pick(), pick()
			}
			body = append(body, &api.TxnOp{KV: op})
		}
		asBefore, err := json.Marshal(body)
		must(t, err)
		if got, want := readOps(t, appendOps(nil, ops)), readOps(t, asBefore); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as another than %s", appendOps(nil, ops), asBefore)
		}
	}
}

// readOps reads operations as an agent does.
func readOps(t *testing.T, body []byte) (ops api.TxnOps) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&ops); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return ops
}

// A real agent does the same for either way, and answers the same but for the indexes.
func TestBothWaysDoTheSame(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	directly, library := f.ways()
	type step struct {
		name string
		ops  func(key string, index uint64) []*api.KVTxnOp
	}
	steps := []step{
		{"there is none", func(key string, _ uint64) []*api.KVTxnOp {
			return []*api.KVTxnOp{unless(key), lock(key, s.id, nil), tree(key)}
		}},
		{"there is one", func(key string, _ uint64) []*api.KVTxnOp { return []*api.KVTxnOp{unless(key), lock(key, s.id, nil)} }},
		{"no data", func(key string, i uint64) []*api.KVTxnOp { return []*api.KVTxnOp{replace(key, i, nil), tree(key)} }},
		{"empty data", func(key string, i uint64) []*api.KVTxnOp {
			return []*api.KVTxnOp{replace(key, i, []byte{}), tree(key)}
		}},
		{"data", func(key string, i uint64) []*api.KVTxnOp {
			return []*api.KVTxnOp{ifHeldBy(key, s.id), ifIndex(key, i), replace(key, i, []byte("\x00\xff\"")), tree(key)}
		}},
		{"another index", func(key string, i uint64) []*api.KVTxnOp { return []*api.KVTxnOp{replace(key, i-1, nil)} }},
		{"no session", func(key string, _ uint64) []*api.KVTxnOp { return []*api.KVTxnOp{lock(key, someSession, nil)} }},
		{"only read", func(key string, _ uint64) []*api.KVTxnOp { return []*api.KVTxnOp{tree(key)} }},
		{"removed if it is the same", func(key string, i uint64) []*api.KVTxnOp { return []*api.KVTxnOp{removeSame(key, i)} }},
		{"removed", func(key string, _ uint64) []*api.KVTxnOp { return []*api.KVTxnOp{remove(key)} }},
	}
	for _, name := range []string{"0", `<&>"\ä`} {
		index := map[keys]uint64{}
		for _, step := range steps {
			var saw [2]string
			for i, way := range []keys{directly, library} {
				key := f.dir("d") + name
				if way == library {
					key = f.dir("e") + name
				}
				found, err := way.transact(within(t), step.ops(key, index[way]))
				text := ""
				for _, kv := range found.found {
					index[way] = kv.ModifyIndex
					same := *kv
					same.Key, same.CreateIndex, same.ModifyIndex, same.Flags = strings.TrimPrefix(kv.Key, key), 0, 0, 0
					b, err := json.Marshal(same)
					must(t, err)
					text += string(b)
				}
				if err != nil {
					text = err.Error()
				}
				saw[i] = strings.NewReplacer(quotedPart(t, f.dir("e")), quotedPart(t, f.dir("d"))).Replace(text)
			}
			if saw[0] != saw[1] && step.name != "another index" { // which is in its text
				t.Errorf("%s, %s: directly %s; by package api %s", name, step.name, saw[0], saw[1])
			}
		}
	}
}

func quotedPart(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	must(t, err)
	return string(b[1 : len(b)-1])
}
