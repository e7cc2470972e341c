package soak

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// prepare opens the connection that looks on, and puts around the lines what
// must not be taken for a part of them.
func (r *run) prepare(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, r.patience()) // which bounds the opening and nothing else
	defer cancel()
	conn, err := r.h.Open(brief, r.ns)
	if err != nil {
		return fmt.Errorf("opening a connection: %w", err)
	}
	r.observer = conn
	neighbor, err := conn.OpenSession(brief, r.h.TTL)
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	for _, recipe := range r.o.Recipes {
		if err := r.surround(ctx, neighbor, recipe.Dir); err != nil {
			return err
		}
	}
	if r.h.Residue == nil {
		return nil
	}
	left, err := r.h.Residue(ctx, r.ns)
	r.foreign = left.Keys - len(r.o.Recipes) // the neighbors go with their session
	return err
}

// surround brings a line's counter near its wrap, and puts foreign keys into the
// line, and an entry into another one whose name begins alike.
func (r *run) surround(ctx context.Context, neighbor driver.Session, dir string) error {
	if r.h.NearWrap != nil {
		if err := r.h.NearWrap(ctx, r.ns, dir); err != nil {
			return fmt.Errorf("bringing the counter near its wrap: %w", err)
		}
	}
	if r.h.PlantForeign != nil {
		if err := r.h.PlantForeign(ctx, r.ns, dir); err != nil {
			return fmt.Errorf("planting foreign keys: %w", err)
		}
	}
	if _, err := neighbor.Create(ctx, dir+"s", "0", nil); err != nil {
		return fmt.Errorf("making another line: %w", err)
	}
	return nil
}
