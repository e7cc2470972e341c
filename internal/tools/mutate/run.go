package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what became of a mutant.
type outcome struct {
	kind    kind
	variant string // of the suite, that killed it
	detail  string // the rule that failed, or how the program ended
}

type kind int

const (
	survived   kind = iota
	notReached      // no variant executes what is changed
	unverified      // no rule fails, but one that the original keeps cannot be verified
	failed          // a rule
	crashed         // a panic, a deadlock or what else the runtime ends a program for
	hung            // it used far more time or memory than the original, or none at all
)

func (k kind) String() string {
	return [...]string{"survived", "not reached", "not verified", "rule failed", "crashed", "hung"}[k]
}

func (k kind) killed() bool { return k >= failed }

// binary is a suite, compiled with the mutants of its targets in it.
type binary struct {
	path    string
	reached map[string]map[int]bool  // by variant
	used    map[string]time.Duration // processor time of the original, by variant
}

// run runs the suite on all mutants of its targets.
func (s suite) run(ctx context.Context, o options, known *equivalents) ([]row, error) {
	var paths []string
	for _, t := range s.targets {
		paths = append(paths, t.path)
	}
	src, err := load(o.root, paths)
	if err != nil {
		return nil, err
	}
	if o.list {
		for _, m := range src.mutants {
			fmt.Printf("%d\t%s:%d\t%s\n", m.id, m.file, m.line, m.name())
		}
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := s.build(ctx, o, dir, src)
	if err != nil {
		return nil, err
	}
	if err := s.sound(ctx, b, dir, src); err != nil {
		return nil, err
	}
	if o.only != 0 {
		return nil, s.single(ctx, o, b, src)
	}
	noted, err := openLog(o.log)
	if err != nil {
		return nil, err
	}
	defer noted.close()
	todo := make(chan *mutant)
	var workers sync.WaitGroup
	for range o.processes {
		workers.Go(func() {
			for m := range todo {
				if was, killed := noted.killed(m); killed {
					m.outcome = was
					continue
				}
				m.outcome = s.try(ctx, o, b, m.id)
				if ctx.Err() == nil {
					noted.add(m)
				}
			}
		})
	}
	start := time.Now()
	for i, m := range src.mutants {
		todo <- m
		if i%100 == 99 {
			fmt.Fprintf(os.Stderr, "%d of %d mutants in %v\n", i+1, len(src.mutants), time.Since(start).Round(time.Second))
		}
	}
	close(todo)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.rows(o, src.mutants, known)
}

// build compiles the suite with the mutants in it.
func (s suite) build(ctx context.Context, o options, dir string, src *source) (*binary, error) {
	replace := make(map[string]string)
	for path, text := range src.overlay {
		copied := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return nil, err
		}
		replace[path] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return nil, err
	}
	b := &binary{path: filepath.Join(dir, "suite.test"), reached: make(map[string]map[int]bool), used: make(map[string]time.Duration)}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", b.path, "./"+s.test)
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compiling the mutants: %w\n%s", err, out)
	}
	return b, nil
}

// sound runs the suite with no mutant on, notes which it reaches and how long it takes.
// Schedules differ from run to run, so it runs more than once.
func (s suite) sound(ctx context.Context, b *binary, dir string, src *source) error {
	const runs = 3
	log := filepath.Join(dir, "reached")
	for _, v := range s.variants {
		b.reached[v] = make(map[int]bool)
		for range runs {
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				return err
			}
			out, used, err := b.process(ctx, v, 0, time.Minute, "COORDKIT_MUTANTS_REACHED="+log)
			if err != nil {
				return fmt.Errorf("the suite fails without a mutant: %w\n%s", err, out)
			}
			b.used[v] = max(b.used[v], used)
			text, err := os.ReadFile(log)
			if err != nil {
				return err
			}
			for _, id := range strings.Fields(string(text)) {
				n, _ := strconv.Atoi(id)
				b.reached[v][n] = true
			}
		}
		fmt.Fprintf(os.Stderr, "%s, %s: reaches %d of %d mutants, %v\n", s.test, v, len(b.reached[v]), len(src.mutants), b.used[v].Round(time.Millisecond))
	}
	return nil
}

// try runs the variants that reach a mutant, until one kills it.
func (s suite) try(ctx context.Context, o options, b *binary, id int) outcome {
	result := outcome{kind: notReached}
	for _, v := range s.variants {
		if !b.reached[v][id] {
			continue
		}
		out, _, err := b.process(ctx, v, id, o.patience+5*b.used[v])
		end := judge(out, err)
		if end.kind.killed() {
			end.variant = v
			return end
		}
		if result.kind != unverified {
			result = end
		}
	}
	return result
}

// single shows what one mutant does.
func (s suite) single(ctx context.Context, o options, b *binary, src *source) error {
	for _, m := range src.mutants {
		if m.id != o.only {
			continue
		}
		fmt.Printf("%s:%d %s\n", m.file, m.line, m.name())
		for _, v := range s.variants {
			out, used, err := b.process(ctx, v, m.id, o.patience+5*b.used[v])
			fmt.Printf("%s: %v, reached: %v, %v\n", v, judge(out, err), b.reached[v][m.id], used.Round(time.Millisecond))
			if o.verbose {
				fmt.Println(out)
			}
		}
	}
	return nil
}
