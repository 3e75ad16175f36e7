package engine

import "sync"

// recent keeps what was made of contents last, by their hashes. A value is made once however many ask for it at the same time, and while it is made nobody waits who asks for
// another. What it keeps is shared and must not be changed.
type recent[V any] struct {
	mu   sync.Mutex // guards what follows
	made map[string]*making[V]
	asks uint64 // so far
}

// making is a value that is made, or is being made.
type making[V any] struct {
	value func() (V, error)
	asked uint64 // when it was asked for last, counted in asks
}

// maxRecent bounds the cache; beyond it the value that nobody has asked for longest is forgotten, and made again when it is needed.
const maxRecent = 128

// of finds a value, or makes it. What could not be made is tried again by whoever asks next.
func (c *recent[V]) of(hash string, do func() (V, error)) (v V, err error) {
	m, made := c.making(hash, do), false
	defer func() {
		if !made { // it failed, or panicked
			c.forget(hash, m)
		}
	}()
	v, err = m.value()
	made = err == nil
	return v, err
}

func (c *recent[V]) making(hash string, do func() (V, error)) *making[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.made[hash]
	if m == nil {
		m = &making[V]{value: sync.OnceValues(do)}
		if c.made == nil {
			c.made = map[string]*making[V]{}
		}
		c.made[hash] = m
	}
	c.asks++
	m.asked = c.asks
	if len(c.made) > maxRecent {
		delete(c.made, c.oldest())
	}
	return m
}

// oldest is the value that nobody has asked for longest. It is called with mu held.
func (c *recent[V]) oldest() (hash string) {
	for h, m := range c.made {
		if hash == "" || m.asked < c.made[hash].asked {
			hash = h
		}
	}
	return hash
}

func (c *recent[V]) forget(hash string, m *making[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[hash] == m {
		delete(c.made, hash)
	}
}
