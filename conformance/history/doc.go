// Package history records what the clients of locks, semaphores and elections did and
// were told, and judges it. Was anything ever held by too many? Did the fencing tokens
// rise, and was the order kept? Was every loss told in time, and did every call come to
// an end?
//
// A test makes a [History], tells it of every call and its outcome as it
// happens, lets faults happen meanwhile, and asks for the [History.Violations]
// in the end. [History.Explain] prints each with the part of the log that is
// about it; [History.WriteTo] prints all of the log.
//
// # What is judged, and why that is sound
//
// The history is told of a call before it is made, of a grant after it was returned,
// and of a release before it is asked for. So a hold on record was held, and a place in
// line on record was there. What happens between a step and its record can only be
// missed, and is never taken for a violation. All clients have to be in one process.
//
// Exclusion, compatibility and permits are judged when a hold is granted, by
// looking at the contexts of all others: a loss that is told a moment too late
// is a violation, however short the moment was.
//
// Tokens: no token is granted twice, and a call that begins after a grant gets a
// greater one than was granted. The token is given with the place in line, so among
// calls that were under way at a time it also tells who was ahead: that they were
// served in that order is judged once both have been. What could share (readers,
// permits within the limit) may be granted in any order. So order is judged among the
// calls that were served, for the places of the others are not known.
//
// What no store can protect is excused: the hold of an entry that an operator removed,
// or of a session that the store was made to end, does not count from that moment on.
// The test says so before it does such a thing, with [History.Removing],
// [History.RemovingAll] and [History.Ending]. What is judged instead is that the holder
// is told.
//
// # Where nothing is slow by itself
//
// On a machine that is busy, sessions are lost and calls take time for no reason that a
// test could know. In virtual time nothing is slow but what a fault has slowed. With
// [Options.Exact] the history takes it for granted, and judges as well that nothing
// fails or is lost without a cause, and that the first call is served first.
package history
