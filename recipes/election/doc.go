// Package election chooses one of several processes to lead: fairly, fenced, and
// visibly to observers.
//
//	e := election.New(client, "scheduler")
//	err := e.Run(ctx, []byte(address), func(ctx context.Context, l *election.Leadership) error {
//		return schedule(ctx, l.Token()) // until ctx ends, with the leadership
//	}, nil)
//
// [Election.Run] is for services: it campaigns, leads, and campaigns again after
// a loss. [Election.Campaign] is one election, and what Run is made of.
//
// Observers ask for the leader with [Election.Leader], or see each change with
// [Election.Observe]: who leads, what the leader has proclaimed, and when nobody leads.
// What they learn is what the store knows. A leader that has been cut off from it shows
// until its session has run out there; it knew of its loss before.
//
// The leader's context ends when the leadership is lost, before another candidate can
// be elected. A process that is paused cannot be told in time; against that there is
// the token, which a resource can compare (see coord.Hold.Token).
//
// # In the store
//
// The candidates stand in a line, first come, first served, each with an entry that is
// bound to its session. The first in line leads. An entry holds the candidate's value
// after a line that says how it stands: a candidate that has to wait notes that when it
// joins, and notes that it has been elected when it is its turn, before Campaign
// returns. So an observer can tell a leader from the next in line that has not taken
// office yet, and may never do. Between the two the office is vacant. A candidate that
// need not wait is elected by the one request that it joins with. So a candidate that
// has just joined counts as the leader if all ahead of it leave before it has noted
// that it waits. So does, until its entry is deleted, one that gave up before it had,
// or that TryCampaign has refused.
package election
