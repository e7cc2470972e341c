package work

import "time"

// Cases returns all of them. ttl is that of the leaders who are killed.
func Cases(ttl time.Duration) []Case {
	return []Case{
		Uncontended(), Contention(2), Contention(8), Contention(32), Contention(100),
		Election(1), Election(2), Election(8),
		Drain(20), Drain(1),
		Keys(64), Keys(1000),
		ReadWrite(20), Semaphore(10, 100),
		Failover(ttl), Observers(100, 20), Worn(),
	}
}
