package targets

import (
	"bytes"
	"fmt"
)

// Heading begins the verdicts of a page.
const Heading = "\n## Targets\n\n"

// Markdown is a table of the verdicts on what was in the run, below a heading, and
// says how many targets were not measured.
func Markdown(all []Verdict) []byte {
	var b bytes.Buffer
	b.WriteString(Heading)
	count := make(map[State]int)
	for _, v := range all {
		count[v.State]++
	}
	fmt.Fprintf(&b, "%d met, %d tied, %d not met, %d not measured in this run. In a tie the target is within the noise of the turns.\n\n",
		count[Met], count[Tie], count[NotMet], count[Unmeasured])
	head := "| store | members | network | case | coordkit's | target | measured | |\n|---|--:|---|---|---|--:|--:|---|\n"
	for _, v := range all {
		if !v.Ran {
			continue
		}
		measured := "–"
		if v.Failed {
			measured = "failed"
		} else if v.State != Unmeasured {
			measured = fmt.Sprintf("%.2f", v.Measured)
			if v.State == NotMet && measured == fmt.Sprintf("%.2f", v.Bound) {
				measured = fmt.Sprintf("%.4f", v.Measured) // it is not the bound
			}
			if v.Low < v.High {
				measured += fmt.Sprintf(" (%.2f–%.2f)", v.Low, v.High)
			}
		}
		state := string(v.State)
		if v.State == NotMet {
			state = "**" + state + "**"
		}
		fmt.Fprintf(&b, "%s| %s | %d | %s | %s | %s | %s | %s | %s |\n", head, v.Store, v.Members, v.Network, v.Case, v.What, v.Bounds(), measured, state)
		head = ""
	}
	return b.Bytes()
}
