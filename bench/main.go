// Bench measures coordkit beside the locks that come with the stores' own
// clients, and beside what each store can do at best: the same work, in turns,
// on the same servers, which it starts.
//
//	go run . -stores zk -cases drain -pairs 3
//
// prints its tables; with -out it also writes them to a directory, with the raw
// figures and plots.
//
//	go run . -stores etcd -cases main -networks 1ms,1ms+tls,loopback
//
// runs the main cases with a round trip of 1 ms between all clients and the servers,
// then likewise with TLS, and then over the loopback.
//
//	go run . -judge results/zk
//
// judges what was written there by the targets as they are now.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coordkit/coordkit/bench/delay"
	"github.com/coordkit/coordkit/bench/leader"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/targets"
	"github.com/coordkit/coordkit/bench/work"
)

func main() {
	if leader.Main(sides) || delay.Main() {
		return
	}
	var p plan
	stores := flag.String("stores", strings.Join(servers.Names(), ","), "the stores to run on")
	members := flag.String("members", "1", "how many servers a store has: 1, 3, or 1,3 for one after the other")
	cases := flag.String("cases", "", "the cases to run, by the beginnings of their names; main: the main ones; all if empty")
	networks := flag.String("networks", "loopback", "the networks to run over, one after the other: loopback, or a round trip between all clients and the servers such as 1ms; with +tls behind it all use TLS, and requests are not counted")
	only := flag.String("sides", "", "the sides to run, by the beginnings of their names; all if empty")
	out := flag.String("out", "", "the directory to write results to; none if empty")
	judge := flag.String("judge", "", "run nothing: judge the results in these directories by the present targets")
	micro := flag.String("micro", "", "run nothing: judge what microbenchmarks have written to this file")
	flag.BoolVar(&p.short, "short", false, "few and short turns, and few waiters")
	flag.IntVar(&p.pairs, "pairs", 5, "how many turns each side has; twice as many where sides are near to each other, unless it is short")
	flag.Parse()
	p.stores, p.cases, p.sides = split(*stores), split(*cases), split(*only)
	if at := slices.Index(p.cases, "main"); at >= 0 {
		p.cases = slices.Replace(p.cases, at, at+1, mainCases...)
	}
	for _, m := range split(*members) {
		n, err := strconv.Atoi(m)
		if err != nil || n != 1 && n != 3 {
			fmt.Fprintf(os.Stderr, "-members %s: 1 or 3, or both\n", *members)
			os.Exit(2)
		}
		p.members = append(p.members, n)
	}
	for _, name := range split(*networks) {
		n, err := report.ParseNetwork(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "-networks:", err)
			os.Exit(2)
		}
		p.networks = append(p.networks, n)
	}
	if p.pairs < 1 {
		fmt.Fprintf(os.Stderr, "-pairs %d: at least 1\n", p.pairs)
		os.Exit(2)
	}
	if err := p.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case *micro != "":
		err = judgeMicro(os.Stdout, *micro)
	case *judge != "":
		for _, dir := range split(*judge) {
			err = errors.Join(err, judgeAnew(dir))
		}
	default:
		err = bench(ctx, p, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// split returns the parts of a list with commas. Names may have one, with a space behind.
func split(list string) []string {
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		switch {
		case part == "":
		case part[0] == ' ' && len(all) > 0:
			all[len(all)-1] += "," + part
		default:
			all = append(all, part)
		}
	}
	return all
}

// command is how the run was asked for, as a shell takes it.
func command(arguments []string) string {
	all := []string{"go run ."}
	for _, a := range arguments {
		if strings.ContainsRune(a, ' ') {
			a = "'" + a + "'"
		}
		all = append(all, a)
	}
	return strings.Join(all, " ")
}

func bench(ctx context.Context, p plan, out string) error {
	run := &report.Run{
		Began:    time.Now(),
		Command:  command(os.Args[1:]),
		Machine:  report.ThisMachine(),
		Versions: report.Versions(ctx),
		Short:    p.short,

		Unfinished: true,
	}
	if err := report.Writable(out); err != nil {
		return err // now, and not when there is something to be lost
	}
	for i, n := range p.networks {
		if n.RTT == 0 {
			continue
		}
		took, err := delay.Echo(ctx, n.Delay())
		if err != nil {
			return err
		}
		p.networks[i].Echo = report.QuantilesOf(took)
	}
	save := func() error {
		run.Took = time.Since(run.Began).Round(time.Second).String()
		if out == "" {
			return nil
		}
		return run.Write(out, targets.Markdown(targets.Judge(run)))
	}
	failed := p.run(ctx, run, save) // which saves after each case: a run takes long
	run.Unfinished = ctx.Err() != nil || failed != nil
	failed = errors.Join(failed, run.Failures())
	if len(run.Contests) > 0 {
		failed = errors.Join(failed, save())
	}
	if out == "" {
		_, err := os.Stdout.Write(append(run.Markdown(), targets.Markdown(targets.Judge(run))...))
		failed = errors.Join(failed, err)
	}
	return failed
}

// lengthOf is how long turns are.
func lengthOf(short bool) work.Length {
	if short {
		return work.Short
	}
	return work.Full
}
