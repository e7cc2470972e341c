package conformance

import (
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

func capsRules() []Rule {
	return []Rule{
		{
			ID:   "F3",
			Text: "Caps and the optional interfaces agree.",
			Cases: []Case{
				{Name: "both ways", Check: capsAgree},
			},
		},
	}
}

func capsAgree(t *Trial) {
	c := t.Open()
	caps := c.Caps()
	s := t.SessionOn(c)
	_, lister := driver.As[driver.CreateLister](s)
	_, names := driver.As[driver.NameLister](s)
	_, waiter := driver.As[driver.AnyWaiter](s)
	_, watcher := driver.As[driver.Watcher](c)
	for _, o := range []struct {
		cap driver.Caps
		who string
		has bool
	}{
		{driver.CapCreateList, "its sessions implement", lister},
		{driver.CapListNames, "its sessions implement", names},
		{driver.CapWaitAny, "its sessions implement", waiter},
		{driver.CapWatch, "the connection implements", watcher},
	} {
		if caps.Has(o.cap) != o.has {
			t.Fatalf("Caps has %v: %v; %s it: %v", o.cap, caps.Has(o.cap), o.who, o.has)
		}
	}
	if again := t.Open().Caps(); again != caps || c.Caps() != caps {
		t.Fatalf("Caps is %q, later %q, and %q on another connection", caps, c.Caps(), again)
	}
	if parsed, err := driver.ParseCaps(caps.String()); err != nil || parsed != caps {
		t.Fatalf("Caps %q are not all known: %v", caps, errors.Join(err, fmt.Errorf("parsed as %q", parsed)))
	}
}
