package register

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// state is a register between two operations.
type state struct{ fence, value uint64 }

// model is what porcupine compares a log with: a fenced register. If heldIsServed,
// an operation of a holder that still held the lock afterwards is never refused.
func model(heldIsServed bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, input, output any) (bool, any) {
			s, in, out := before.(state), input.(Entry), output.(Answer)
			if in.Token < s.fence {
				return out.Refused && !(in.Held && heldIsServed), s
			}
			s.fence = in.Token
			if in.Write {
				s.value = in.Op.Value
			}
			return !out.Refused && out.Value == s.value, s
		},
	}
}

// Check reports, as an error, that a log is not that of a fenced register which
// always serves who holds the lock: two held it at a time, or the register went
// back to a lower token, or it lost a write.
func Check(log []Entry) error { return check(log, model(true)) }

// CheckFence is Check without regard to who held the lock: the tokens alone keep
// the register's writes in order, also where two held the lock at a time.
func CheckFence(log []Entry) error { return check(log, model(false)) }

func check(log []Entry, m porcupine.Model) error {
	ops := make([]porcupine.Operation, len(log))
	for i, e := range log {
		ops[i] = porcupine.Operation{ClientId: e.Client, Input: e, Output: e.Answer, Call: e.Call, Return: e.Return}
	}
	result, info := porcupine.CheckOperationsVerbose(m, ops, 0)
	if result == porcupine.Ok {
		return nil
	}
	return fmt.Errorf("the register's log is not in order: %s", explain(log, info))
}

// shown is how many operations of the log an error shows on each side.
const shown = 6

// explain shows the end of the longest part of the log that is in order, and what
// cannot follow it.
func explain(log []Entry, info porcupine.LinearizationInfo) string {
	var best []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, part := range partition {
			if len(part) > len(best) {
				best = part
			}
		}
	}
	done := make(map[int64]bool, len(best))
	for _, op := range best {
		done[op.Call] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "after %d operations, the last of them", len(best))
	for _, op := range best[max(0, len(best)-shown):] {
		fmt.Fprintf(&b, "\n  %v", op.Input)
	}
	b.WriteString("\nnone of these can follow:")
	rest := slices.DeleteFunc(slices.Clone(log), func(e Entry) bool { return done[e.Call] })
	slices.SortFunc(rest, func(a, b Entry) int { return int(a.Call - b.Call) })
	for _, e := range rest[:min(len(rest), shown)] {
		fmt.Fprintf(&b, "\n  %v", e)
	}
	return b.String()
}

// String describes the operation and its answer.
func (e Entry) String() string {
	what, answer := fmt.Sprintf("reads %d", e.Answer.Value), ""
	if e.Write {
		what = fmt.Sprintf("writes %d", e.Op.Value)
	}
	if e.Refused {
		answer = ", refused"
	}
	if e.Held {
		answer += ", holding the lock"
	}
	return fmt.Sprintf("[%d, %d] client %d with token %d %s%s", e.Call, e.Return, e.Client, e.Token, what, answer)
}
