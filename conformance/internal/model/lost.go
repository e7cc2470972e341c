package model

import "time"

// isLost judges a session that ended by itself: that is right only if its link was broken
// for long enough (S3).
func (j *judge) isLost(s *Session) {
	if !s.lost() || j.h.Lag > j.h.TTL/8 {
		return
	}
	var broken time.Duration
	for _, f := range j.h.Faults {
		if f.Conn == s.Conn {
			broken += f.costs(s)
		}
	}
	if broken > s.TTL/4 {
		return
	}
	j.breaks("S3", s.Opened, "session %s, which it had opened, ended after %v although its link was broken for no more than %v: %q",
		s.Name, s.DoneAt-s.Opened.EndAt, broken, s.Err)
}

// costs is the time that a fault may have left the session without a renewal: as long as it
// lasted, and the time in which the driver connects again. If replies are lost or a request
// is held, the driver may not notice before an attempt has taken its time, which is too long
// to demand anything.
func (f Fault) costs(s *Session) time.Duration {
	from, to := max(f.From, s.DoneAt-2*s.TTL), min(f.To, s.DoneAt)
	switch {
	case to < from:
		return 0
	case f.Silent:
		return s.TTL
	}
	return to - from + s.TTL/10
}
