package conformance

import (
	"fmt"
	"strings"
	"time"
)

// Status is what became of a rule or a case.
type Status int

// The statuses, the worse the greater.
const (
	// Passed: everything was checked and nothing was found.
	Passed Status = iota
	// Waived: it is broken, and a waiver says why that may be.
	Waived
	// NotVerified: it could not be checked. This is not a pass.
	NotVerified
	// Failed: it is broken, or waived without need.
	Failed
)

// String returns the status as it is printed: capitals ask for attention.
func (s Status) String() string {
	switch s {
	case Passed:
		return "passed"
	case Waived:
		return "waived"
	case NotVerified:
		return "NOT VERIFIED"
	case Failed:
		return "FAILED"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// Result is what became of a rule.
type Result struct {
	Rule   Rule
	Status Status
	// Detail says what was found, why it was not verified or why it is
	// waived. It may have several lines; it is empty if there is nothing to
	// say.
	Detail string
	// Absent says that it passed for want of anything to check: the rule is
	// about something optional that the driver does not offer.
	Absent bool
	// Cases are the results of Rule.Cases, in their order.
	Cases []CaseResult
	// Took is the time of the longest case.
	Took time.Duration
}

// CaseResult is what became of a case: Passed, NotVerified or Failed.
type CaseResult struct {
	Name   string
	Status Status
	Detail string // as in Result
	Absent bool   // as in Result
	Took   time.Duration
}

// judge makes a rule's result from those of its cases and its waiver, if there
// is one.
func judge(rule Rule, cases []CaseResult, waiver string) Result {
	r := Result{Rule: rule, Status: Passed, Absent: len(cases) > 0, Cases: cases}
	var details []string
	for _, c := range cases {
		r.Absent = r.Absent && c.Absent
		r.Status = max(r.Status, c.Status)
		r.Took = max(r.Took, c.Took)
		if c.Detail != "" {
			details = append(details, c.Name+": "+c.Detail)
		}
	}
	if waiver != "" {
		switch r.Status {
		case Failed:
			r.Status = Waived
			details = append([]string{"waived: " + waiver}, details...)
		case Passed:
			r.Status = Failed
			details = append([]string{fmt.Sprintf("the rule holds, so its waiver (%s) is not needed: remove it", waiver)}, details...)
		}
	}
	r.Detail = strings.Join(details, "\n")
	return r
}
