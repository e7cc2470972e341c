package mem

// Stats counts what a store holds. The zero value means that nothing is left.
type Stats struct {
	Conns    int // connections that are open
	Sessions int // sessions that the store has not ended
	Watches  int // waits and observers that the store has to tell something one day
	Dirs     int // directories with a node or a foreign key
	Nodes    int
	Foreign  int // keys put by PutForeign
}

// Stats returns the counts, all taken at one moment.
func (st *Store) Stats() Stats {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.stats
	s.Dirs, s.Sessions = len(st.dirs), len(st.sessions)
	if st.idle != nil && st.idle.empty() {
		s.Dirs--
	}
	return s
}

// Expire ends a session at once, as a server does that has lost its patience or
// was told to by an operator: the nodes vanish, and the client hears of it with
// its next call or renewal. It reports whether there was such a session.
func (st *Store) Expire(sessionID string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	l := st.sessions[sessionID]
	if l != nil {
		st.endLocked(l)
	}
	return l != nil
}

// Remove deletes a node behind its owner's back, as an operator might. key is
// the node's Key, or what PutForeign was given. It reports whether there was
// such a node.
func (st *Store) Remove(namespace, dir, key string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	d := st.dirs[place{namespace, dir}]
	if d == nil {
		return false
	}
	if n := d.named(key); n != nil {
		st.removeLocked(n)
		return true
	}
	_, ok := d.foreign[key]
	if ok {
		delete(d.foreign, key)
		st.stats.Foreign--
		st.tidyLocked(d)
	}
	return ok
}

// RemoveDir deletes a directory with all that is in it, as an operator might.
// It reports whether there was one.
func (st *Store) RemoveDir(namespace, dir string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	d := st.dirs[place{namespace, dir}]
	if d == nil || d.empty() {
		return false
	}
	st.stats.Foreign -= len(d.foreign)
	d.foreign = nil
	for _, n := range d.nodes[d.head:] {
		n.doomed = true // they go together, so a wait for several tells the first
	}
	for !d.empty() {
		st.removeLocked(d.nodes[d.head])
	}
	st.tidyLocked(d)
	return true
}

// RemoveNamespace deletes all directories of a namespace, as an operator might.
func (st *Store) RemoveNamespace(namespace string) {
	var dirs []string
	st.mu.Lock()
	for at := range st.dirs {
		if at.namespace == namespace {
			dirs = append(dirs, at.dir)
		}
	}
	st.mu.Unlock()
	for _, dir := range dirs {
		st.RemoveDir(namespace, dir)
	}
}

// PutForeign puts a key into a directory, made if need be, that no driver has
// made. It stays until it is removed.
func (st *Store) PutForeign(namespace, dir, key string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	d := st.dirLocked(place{namespace, dir})
	if _, ok := d.foreign[key]; ok {
		return
	}
	if d.foreign == nil {
		d.foreign = make(map[string]struct{})
	}
	d.foreign[key] = struct{}{}
	st.stats.Foreign++
}
