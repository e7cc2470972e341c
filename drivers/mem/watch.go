package mem

// topic is what a watch waits for: that a node goes, or that a directory changes.
type topic struct {
	token uint64 // of the node, or 0
	at    place  // of the directory, or zero
}

// watch waits at the store for the first event of some topics. The client makes
// it, so that it can end the watch while the request for it is on its way: a
// watch that was ended before is never set.
type watch struct {
	owner  any // the link that the watch came over
	topics []topic
	fired  chan struct{} // closed when the watch fires
	ended  bool          // it has fired, or the client has ended it
}

// watches are the watches that are set, by topic. The store's lock guards them.
type watches map[topic]map[*watch]bool

// set sets a watch, unless it has ended.
func (ws watches) set(w *watch) {
	if w.ended {
		return
	}
	for _, t := range w.topics {
		if ws[t] == nil {
			ws[t] = make(map[*watch]bool)
		}
		ws[t][w] = true
	}
}

// end ends a watch, whether it is set, has fired, or is still to be set.
func (ws watches) end(w *watch) {
	w.ended = true
	for _, t := range w.topics {
		delete(ws[t], w)
		if len(ws[t]) == 0 {
			delete(ws, t)
		}
	}
}

// fire fires the watches of a topic. Each fires once.
func (ws watches) fire(t topic) {
	for w := range ws[t] {
		ws.end(w)
		close(w.fired)
	}
}

// all returns every watch that is set.
func (ws watches) all() map[*watch]bool {
	all := make(map[*watch]bool)
	for _, some := range ws {
		for w := range some {
			all[w] = true
		}
	}
	return all
}
