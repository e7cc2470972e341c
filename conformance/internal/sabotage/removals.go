package sabotage

import (
	"context"
	"sync"

	"github.com/coordkit/coordkit/conformance"
)

// noteRemovals makes h note which directories an operator removes. removed reports whether
// the directory at a path was removed. A path is a namespace and a directory with a slash
// between them, or a namespace alone.
func noteRemovals(h *conformance.Harness) (removed func(path string) bool) {
	var paths sync.Map
	remove := h.RemoveDir
	h.RemoveDir = func(ctx context.Context, namespace, dir string) error {
		paths.Store(namespace+"/"+dir, true)
		return remove(ctx, namespace, dir)
	}
	return func(path string) bool {
		_, ok := paths.Load(path)
		return ok
	}
}
