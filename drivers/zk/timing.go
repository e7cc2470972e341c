package zk

import "time"

// timing is every duration that the driver chooses, most of them by the TTL of
// the session that a link carries.
//
// The lease is given up a TTL, less a margin of a tenth, after the sending of
// the last renewal but one: 0.57 TTL after a renewal was due that gets no answer.
// In that time the link notices, connects to another server and renews there.
// silent, stuck and connect are made for that.
type timing struct {
	beat    time.Duration // from one renewal to the next
	nudge   time.Duration // after how long without an answer the server is given another thing to do
	silent  time.Duration // after how long without a sign of life a request's connection is given up
	stuck   time.Duration // after how long an unanswered renewal's connection is given up
	connect time.Duration // how long one attempt to connect may take, the handshake included
	opening time.Duration // the same for a link that has no session yet
	attempt time.Duration // the most that one request may take
	pause   time.Duration // the longest pause between two attempts to connect
	linger  time.Duration // how long a watch outlives its last wait
}

const (
	// Below these, a busy server could be taken for a dead one.
	leastSilent  = 50 * time.Millisecond
	leastOpening = time.Second

	mostNudge   = 100 * time.Millisecond
	mostSilent  = 3 * time.Second
	mostConnect = 2 * time.Second
	mostAttempt = 5 * time.Second
	mostPause   = time.Second

	// relook is after how long a view looks again though no event came. There are
	// none of a directory whose permissions were changed, and none on a server
	// that is cut off from the others and has not noticed.
	relook = 15 * time.Second

	// parting is how long closing a connection waits for the store to end the
	// sessions.
	parting = 500 * time.Millisecond
)

func timingFor(ttl time.Duration) timing {
	connect := between(leastSilent, ttl/6, mostConnect)
	return timing{
		beat:    ttl / 6,
		nudge:   between(leastSilent/2, ttl/24, mostNudge),
		silent:  between(leastSilent, ttl/6, mostSilent),
		stuck:   max(leastSilent, ttl/5),
		connect: connect,
		opening: max(connect, leastOpening),
		attempt: between(leastSilent, ttl/3, mostAttempt),
		pause:   between(leastPause, ttl/16, mostPause),
		linger:  time.Second,
	}
}

func between(least, d, most time.Duration) time.Duration { return min(max(least, d), most) }
