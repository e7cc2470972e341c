package broken

// promise is what several recipes promise: the rule of each, or "" if it has none.
type promise struct{ mutex, rwlock, semaphore, election string }

// Promises that several mistakes break.
var (
	// lossBeforeHandoffPromise: a hold ends before the next one begins.
	lossBeforeHandoffPromise = promise{mutex: "M8", rwlock: "R14", semaphore: "P16", election: "K10"}
	// lostRepliesPromise: a lost reply or a late request leaves nothing.
	lostRepliesPromise = promise{mutex: "M10", rwlock: "R17", semaphore: "P19", election: "K11"}
	// releasePromise: a release is idempotent and frees nothing else.
	releasePromise = promise{mutex: "M11", rwlock: "R12", semaphore: "P14", election: "K12"}
	// removalPromise: the owner of an entry that an operator removes is told.
	removalPromise = promise{mutex: "M13", rwlock: "R18", semaphore: "P20", election: "K13"}
	// doPromise: Do releases whichever way its function ends.
	doPromise = promise{mutex: "M16", rwlock: "R11", semaphore: "P13", election: "K19"}
	// revocationPromise: a holder hears the request to let go.
	revocationPromise = promise{mutex: "M19", rwlock: "R13", semaphore: "P15", election: "K4"}
	// pacePromise: a client tries again at a pace.
	pacePromise = promise{mutex: "M24", rwlock: "R24", semaphore: "P28", election: "K23"}
	// wakePromise: a release wakes the next in line and the one behind it.
	wakePromise = promise{mutex: "M26", rwlock: "R5", semaphore: "P6", election: "K25"}
	// givenSessionPromise: a session that the recipe was given is used and kept.
	givenSessionPromise = promise{mutex: "M25", rwlock: "R25", semaphore: "P29"}
)
