package engine

import (
	"fmt"
	"sync"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/run"
)

// programs has the programs, and the settings, that runs were last loaded with: most runs share
// both with many.
type programs struct {
	env      *effect.Environment
	made     recent[*run.Program]     // by the hash of the bundle
	settings recent[*effect.Settings] // by that of their content
	origins  recent[run.Origin]       // by their names in heads
}

// of finds a bundle compiled, or reads and compiles it.
func (p *programs) of(hash string, read func() ([]byte, error)) (*run.Program, error) {
	return p.made.of(hash, func() (*run.Program, error) { return p.make(read) })
}

// at is of for a run that began under an earlier behaviour, whose machine is what it was then.
func (p *programs) at(behaviour uint32, hash string, read func() ([]byte, error)) (*run.Program, error) {
	if behaviour == p.env.Behaviour {
		return p.of(hash, read)
	}
	then := programs{env: p.env.At(behaviour)}
	return p.made.of(fmt.Sprintf("%s at %d", hash, behaviour), func() (*run.Program, error) { return then.make(read) })
}

func (p *programs) make(read func() ([]byte, error)) (*run.Program, error) {
	encoded, err := read()
	if err != nil {
		return nil, err
	}
	bundle, err := lang.Decode(encoded)
	if err != nil {
		return nil, err
	}
	return p.compile(bundle)
}

func (p *programs) compile(bundle *lang.Bundle) (*run.Program, error) {
	code, err := lang.Compile(bundle, p.env)
	if err != nil {
		return nil, err
	}
	image, err := vm.Load(code.Modules, p.env)
	if err != nil {
		return nil, err
	}
	return &run.Program{Env: p.env, Bundle: bundle, Code: code, Image: image}, nil
}

// host finds what a run, as its state has it, needs of its program and its settings.
func (p *programs) host(r *reader, s *run.State) (*run.Host, error) {
	if !p.env.Keeps(s.Behaviour) {
		return nil, runtime.Refusef(runtime.ErrKindNewer, "run %s was started with behaviour %d of the builtins; this build has %d", s.ID, s.Behaviour, p.env.Behaviour).
			WithHelp("go on with the build that started it, or end it with: starling cancel %s", s.ID).WithCall("cancel ends it; the build that started it goes on with it")
	}
	made, err := p.at(s.Behaviour, s.Bundle, func() ([]byte, error) { return r.needed(s.Bundle) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its program: %w", s.ID, err)
	}
	settings, err := p.settings.of(s.Settings, func() (*effect.Settings, error) { return r.settings(s.Settings) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", s.ID, err)
	}
	return &run.Host{Run: s.ID, Program: made, Settings: settings}, nil
}

// recent keeps what was made of contents last, by their hashes. A value is made once however many
// ask for it at the same time, and while it is made nobody waits who asks for another. What it
// keeps is shared and must not be changed.
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

// maxRecent bounds the cache; beyond it the value that nobody has asked for longest is forgotten,
// and made again when it is needed.
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
