package conformance_test

// lack is what the clients of a soak do not do, so that a mistake does not show.
type lack string

const (
	noDo      lack = "nobody calls Do"
	noRun     lack = "nobody calls Run"
	noRevoke  lack = "nobody asks a holder to let go, or listens"
	noRepeat  lack = "nobody releases again what was released"
	noReentry lack = "nobody enters again what was acquired of these, or what was lost"
	noLimit   lack = "nobody changes the limit, is given another, or wants more"
	noReading lack = "nobody reads what the listing says of a contender, or who leads where nobody does"
	noTiming  lack = "nobody measures how long this call takes after the end of its ctx"
	noStale   lack = "nobody goes on with what is lost, or with a value that could not be written"
	noCount   lack = "nobody counts what it costs: wakes, goroutines, time"
)

// unmet are the suite's broken recipes that the soak cannot find, and why. That of
// a mistake that is made with several recipes is by the mistake alone.
var unmet = map[string]lack{
	"no-cleanup-after-panic": noDo,
	"loss-swallowed":         noDo,

	"election run-unguarded":         noRun,
	"election run-resigns-first":     noRun,
	"election run-once":              noRun,
	"election run-keeps-after-panic": noRun,

	"deaf":                       noRevoke,
	"anonymous-revocation":       noRevoke,
	"listens-once":               noRevoke,
	"listens-for-ever":           noRevoke,
	"revoked-is-released":        noRevoke,
	"requests-stay":              noRevoke,
	"asking-the-gone-fails":      noRevoke,
	"asks-and-leaves":            noRevoke,
	"election revoked-in-public": noRevoke,

	"released-once":                noRepeat,
	"release-again-frees-the-next": noRepeat,

	"stale-reentry":        noReentry,
	"rwlock not-reentrant": noReentry,
	"rwlock upgrade-waits": noReentry,

	"semaphore limits-late": noLimit,

	"rwlock without-modes":        noReading,
	"semaphore without-permits":   noReading,
	"election first-line-only":    noReading,
	"election nobody-is-no-error": noReading,

	"rwlock downgrade-late": noTiming,
	"election leader-late":  noTiming,

	"rwlock downgrade-without-looking": noStale,
	"election stale-proclaim-unsaid":   noStale,
	"election proclaims-when-it-can":   noStale,

	"rwlock readers-watch-the-first-writer": noCount,
	"rwlock one-reader-at-a-time":           noCount,
	"goroutine-left":                        noCount,
}

// unmetRules are the rules of which the soak finds no broken recipe, and why.
var unmetRules = map[string]lack{
	"P9":  noLimit,
	"P10": noLimit,
	"P11": noLimit,
	"P26": noLimit,
	"P27": noLimit,
}
