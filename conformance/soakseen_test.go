package conformance_test

import "strings"

// seen are the broken drivers that the soak finds within a few runs. The others take a
// schedule that users of the recipes come to rarely or never, or package coord hides
// them: the suite's own cases find all.
var seen = strings.Fields(`
	abandon-does-nothing abandon-voids-all abandons-namesakes absent-directory-refused
	absent-directory-unwatched answers-mixed-up
	broken-watch-is-nil burst-cut-short calls-for-renewals
	close-without-bound connection-under-callers-ctx counter-wraps create-returns-late
	created-in-another-session created-twice data-as-text data-cut data-trimmed deaf-after-a-reset
	deaf-after-silence deaf-from-a-list delete-by-prefix deletes-unseen
	directory-remembered dying-sessions-node error-but-created first-attempt-counts
	first-five-nodes first-of-any foreign-keys-listed foreign-keys-panic
	foreign-keys-removed foreign-keys-watched four-bytes-are-gone gone-before-unseen
	gone-from-a-list keepalive-under-callers-ctx large-left-out last-in-line
	late-comers-clock late-comers-token late-delete late-timer late-update-revives
	leaving-ends-the-rest listed-after-the-removal listed-by-key listed-by-prefix
	looks-then-watches loss-forgotten missing-directory-is-an-error
	names-from-a-replica names-in-no-order never-told node-under-callers-ctx nodes-left-to-the-ttl
	numbered-before-it-shows observer-of-a-session one-create-remembered one-missed-renewal
	one-waiter-woken only-deletes-seen orphan-after-lost-reply own-node-alone own-node-not-listed
	own-writes-alone renewed-for-a-while reset-ends-the-session reset-ends-the-watch
	second-close-fails second-delete-fails sessions-left siblings-closed silence-is-nil
	stale-observer stale-session-list time-out-is-nil token-restarts
	twice-the-ttl underscore-refused unordered-created-list update-revives update-wakes
	wait-returns-late waits-for-the-name watch-begins-stale watch-bound-to-a-session
	watch-by-prefix watch-deaf-after-a-reset watch-deaf-after-silence watch-goes-with-the-directory
	watch-lists-then-subscribes watch-lost-with-the-session watch-of-ones-own watch-out-of-order
	watch-without-a-beginning
`)
