package process

import "sync"

// Guards are those that this process has started and that have not ended, with what they are for.
// It is in memory, where nobody else can change it. The zero value has none; it may be used by many
// goroutines.
type Guards struct {
	mu    sync.Mutex // protects what is below
	known map[started]Attempt
}

// started names a process for ever.
type started struct {
	pid   int
	start uint64
}

// Add adds a guard. Dismiss takes it away again.
func (g *Guards) Add(a Attempt, pid int, start uint64) (dismiss func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[started]Attempt{}
	}
	key := started{pid, start}
	g.known[key] = a
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.known, key)
	}
}

func (g *Guards) attempt(pid int, start uint64) (Attempt, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.known[started{pid, start}]
	return a, ok
}
