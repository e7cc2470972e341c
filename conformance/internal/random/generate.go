package random

import (
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/netfault"
)

// Kind is what programs of a kind do.
type Kind struct {
	Name     string
	AtOnce   int     // the most steps of one wave
	Faults   float64 // how often the links are broken, per wave
	Acts     float64 // how often an operator acts
	Ends     float64 // how often a session ends
	MinSteps int
	MaxSteps int
}

// Kinds are the kinds of programs that there are.
func Kinds() []Kind {
	return []Kind{
		{Name: "one after the other", AtOnce: 1, Acts: 0.02, Ends: 0.01, MinSteps: 8, MaxSteps: 40},
		{Name: "at the same time", AtOnce: 6, Acts: 0.02, Ends: 0.01, MinSteps: 12, MaxSteps: 50},
		{Name: "under faults", AtOnce: 3, Faults: 0.45, Acts: 0.02, Ends: 0.06, MinSteps: 10, MaxSteps: 45},
		{Name: "operators and ends", AtOnce: 3, Faults: 0.1, Acts: 0.25, Ends: 0.12, MinSteps: 10, MaxSteps: 40},
	}
}

const maxSessions = 8

// Generate makes the program of a seed, of what can be done with a store.
func Generate(kind Kind, st Store, seed uint64) Program {
	g := &generator{
		rng:  rand.New(rand.NewPCG(seed, uint64(len(kind.Name)))),
		kind: kind, st: st,
		p: Program{Kind: kind.Name, Seed: seed},
	}
	g.begin()
	want := kind.MinSteps + g.rng.IntN(kind.MaxSteps-kind.MinSteps+1)
	for g.ids < want {
		g.wave()
	}
	return g.p
}

// generator makes a program. It knows roughly what is there, as it would be if each
// call succeeded.
type generator struct {
	rng  *rand.Rand
	kind Kind
	st   Store
	p    Program
	ids  int
	long bool // it has slept for a TTL
	used []Data

	sessions []*genSession
	conns    []*genConn
	names    []string // ids of nodes
	nodes    []*genNode
	lists    []int // steps that list
	focus    *genNode
	earlier  int // the last step of the waves before
	waveNow  []Step
}

type genSession struct {
	conn int
}

type genConn struct {
	linked, broken, held, closed bool
	heals                        int // the waves until it is healed
}

type genNode struct {
	step         int // that made it
	session, dir int
	slot         string
	gone         bool
}

// begin opens connections and sessions.
func (g *generator) begin() {
	conns := 1 + g.rng.IntN(2)
	g.p.Links = make([]bool, 1+conns)
	g.conns = []*genConn{{}}
	for i := 1; i <= conns; i++ {
		g.p.Links[i] = g.st.OpenLink != nil && (g.kind.Faults > 0 || g.chance(0.3))
		g.conns = append(g.conns, &genConn{linked: g.p.Links[i]})
	}
	dirs := []string{"", "b", "-", ":b", ".x", "%2F", "0", "_y"}
	g.rng.Shuffle(len(dirs)-1, func(i, j int) { dirs[i+1], dirs[j+1] = dirs[j+1], dirs[i+1] })
	g.p.Dirs = dirs[:1+g.rng.IntN(2)]
	ids := []string{"0", "1", "a", "A", "00", "10", "z9", "0123456789abcdef"}
	g.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	g.names = ids[:1+g.rng.IntN(3)]
	if g.chance(0.1) {
		g.names = ids
	}
	for range 2 + g.rng.IntN(3) {
		g.openSession(1 + g.rng.IntN(conns))
	}
	if g.chance(0.5) {
		g.watch(Step{Session: -1, Conn: g.rng.IntN(len(g.conns)), Dir: 0})
	}
	g.endWave()
	if g.kind.AtOnce > 1 && g.chance(0.5) {
		for i, c := range g.conns {
			if c.linked && g.chance(0.7) {
				d := g.st.TTL / time.Duration(100+g.rng.IntN(200))
				g.add(Step{Op: Delay, Conn: i, Session: -1, To: netfault.Both, Pause: d})
			}
		}
		g.endWave()
	}
}

func (g *generator) chance(p float64) bool { return g.rng.Float64() < p }

func pick[T any](g *generator, from []T) T { return from[g.rng.IntN(len(from))] }

func (g *generator) add(s Step) int {
	g.ids++
	s.ID = g.ids
	g.waveNow = append(g.waveNow, s)
	return s.ID
}

func (g *generator) endWave() {
	if len(g.waveNow) > 0 {
		g.p.Waves = append(g.p.Waves, g.waveNow)
	}
	g.waveNow, g.earlier = nil, g.ids
}

func (g *generator) openSession(conn int) {
	s := Step{Op: model.OpenSession, Conn: conn, Session: len(g.sessions), Stays: g.chance(0.5)}
	if g.chance(0.15) {
		s.Pause = g.st.TTL
	}
	g.add(s)
	g.sessions = append(g.sessions, &genSession{conn: conn})
}

// wave makes the steps of one wave.
func (g *generator) wave() {
	for i, c := range g.conns {
		if c.broken || c.held {
			if c.heals--; c.heals <= 0 {
				g.mend(i, c)
			}
		}
	}
	switch {
	case g.chance(g.kind.Faults / 4):
		g.givenUp()
	case g.chance(g.kind.Faults):
		g.fault()
	case g.chance(g.kind.Acts):
		g.act()
	case g.chance(g.kind.Ends):
		g.end()
	}
	if g.kind.AtOnce == 1 {
		g.endWave()
	} else if g.chance(0.7) { // mostly what breaks does so before the calls are made
		g.endWave()
	}
	for range 1 + g.rng.IntN(g.kind.AtOnce) {
		g.call()
	}
	g.endWave()
}
