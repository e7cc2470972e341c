package targets

import (
	"bytes"
	"fmt"
)

// Markdown is a table of the verdicts on what was in the run, and says how many
// targets were not measured.
func Markdown(all []Verdict) []byte {
	var b bytes.Buffer
	count := make(map[State]int)
	for _, v := range all {
		count[v.State]++
	}
	fmt.Fprintf(&b, "\n## Targets\n\n%d met, %d not met, %d not measured in this run.\n\n", count[Met], count[NotMet], count[Unmeasured])
	head := "| store | members | case | coordkit's | target | measured | |\n|---|--:|---|---|--:|--:|---|\n"
	for _, v := range all {
		if !v.Ran {
			continue
		}
		measured := "–"
		if v.State != Unmeasured {
			measured = fmt.Sprintf("%.2f", v.Measured)
		}
		state := string(v.State)
		if v.State == NotMet {
			state = "**" + state + "**"
		}
		fmt.Fprintf(&b, "%s| %s | %d | %s | %s | %s | %s | %s |\n", head, v.Store, v.Members, v.Case, v.What, v.Bounds(), measured, state)
		head = ""
	}
	return b.Bytes()
}
