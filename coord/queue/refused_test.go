package queue

import (
	"context"
	"errors"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// What a failed create may have left has to be cleared up, also where the reason
// for not knowing is one for which other calls have no effect.
func TestRefusedIsCertain(t *testing.T) {
	unavailable := &driver.Error{Op: "list", Kind: driver.ErrUnavailable, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{unavailable, true},
		{&driver.Error{Op: "create", Kind: driver.ErrDenied}, true},
		{&driver.Error{Op: "create", Kind: driver.ErrUncertain}, false},
		{&driver.Error{Op: "create", Kind: driver.ErrUncertain, Err: unavailable}, false},
		{errors.Join(unavailable, coord.ErrUncertain), false},
		{coord.ErrSessionLost, false},
		{nil, false},
	} {
		if got := refused(c.err); got != c.want {
			t.Errorf("refused(%v) is %t", c.err, got)
		}
	}
}
