package driver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestCheckData(t *testing.T) {
	if err := driver.CheckData(make([]byte, driver.MaxData)); err != nil {
		t.Error(err)
	}
	err := driver.CheckData(make([]byte, driver.MaxData+1))
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "49153 bytes") {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestCheckTTL(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, time.Minute} {
		if err := driver.CheckTTL(ttl, time.Second, time.Minute); err != nil {
			t.Error(err)
		}
	}
	for _, ttl := range []time.Duration{time.Second - 1, time.Minute + 1} {
		err := driver.CheckTTL(ttl, time.Second, time.Minute)
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "from 1s to 1m0s") {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}
