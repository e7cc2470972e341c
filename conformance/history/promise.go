package history

// Promise says which kind of promise was broken, for who counts them and for who
// looks for the rule.
type Promise string

// The promises. What is none of these is Other.
const (
	Exclusion   Promise = "exclusion"   // what is held together can be held together
	Order       Promise = "order"       // first come, first served
	Tokens      Promise = "tokens"      // tokens rise strictly from grant to grant
	Deadline    Promise = "deadline"    // a call returns when its ctx ends
	Resolution  Promise = "resolution"  // every call comes to an end, and all who wait are served
	Cause       Promise = "cause"       // nothing fails or is lost without a cause, and the error says which
	Loss        Promise = "loss"        // who loses a session or an entry is told in time
	Reentry     Promise = "re-entry"    // a hold is entered again under its context, and not once it is lost
	Repetition  Promise = "repetition"  // a release can be repeated, and ends nothing else
	Trade       Promise = "downgrade"   // a downgraded hold stands in its place, with its token
	Revocation  Promise = "revocation"  // a holder hears of each request to release, and nothing else happens
	Listing     Promise = "listing"     // holders are listed with who they are
	Limits      Promise = "limits"      // a request for more than the limit fails at once
	Value       Promise = "value"       // what a leader proclaims counts while it leads
	Observation Promise = "observation" // an observer is shown each lasting state, in order
	Wrapped     Promise = "do"          // a function is run under a hold, which is released whichever way it ends
	Service     Promise = "run"         // a service stands again after a loss, and runs one function at a time
	Leftovers   Promise = "leftovers"   // nothing is left of what is over
	Closing     Promise = "closing"     // closing ends what is held and leaves nothing
	Other       Promise = "other"
)
