package targets

import (
	"bytes"
	"fmt"
)

// Markdown is a table of verdicts.
func Markdown(all []Verdict) []byte {
	var b bytes.Buffer
	count := make(map[State]int)
	for _, v := range all {
		count[v.State]++
	}
	fmt.Fprintf(&b, "\n## Targets\n\n%d met, %d not met, %d not measured in this run.\n\n", count[Met], count[NotMet], count[Unmeasured])
	if len(all) == 0 {
		return b.Bytes()
	}
	fmt.Fprint(&b, "| store | members | case | coordkit's | target | measured | |\n|---|--:|---|---|--:|--:|---|\n")
	for _, v := range all {
		measured := "–"
		if v.State != Unmeasured {
			measured = fmt.Sprintf("%.2f", v.Measured)
		}
		state := string(v.State)
		if v.State == NotMet {
			state = "**" + state + "**"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s |\n", v.Store, v.Members, v.Case, v.What, v.Bounds(), measured, state)
	}
	return b.Bytes()
}
