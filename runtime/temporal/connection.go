package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
	"starling/runtime/run"
)

// Options say how runs on a Temporal server are driven and reached.
type Options struct {
	Client client.Client // of the server and the namespace; not closed by this package
	Queue  string        // of the workers that carry runs, default "starling"
	Env    *effect.Environment

	// Namespace is that of Client, default "default". A worker says there that it is there.
	Namespace string

	// Caller is who calls an engine with a context that does not say it. The zero one is a
	// stranger.
	Caller runtime.Caller

	// Getenv has the variables that a worker gives the runs that it carries. Nil is none.
	Getenv func(name string) (value string, ok bool)

	// Label is the queue of the workers that perform the calls of an agent, by what its project
	// says; "" is Queue. Nil is Queue for all.
	Label func(s *effect.Settings, backend string) string

	// Contents keep what is too large for a history. Nil is none: what is larger is refused.
	Contents Contents

	Log func(format string, args ...any) // what operators should know; nil drops it
}

// DefaultQueue is the queue of workers where nothing else is said.
const DefaultQueue = "starling"

// connection is what an engine and a worker have in common.
type connection struct {
	turner
	client    client.Client
	namespace string
	queue     string
	caller    runtime.Caller
	contents  contentCache
	settings  settingsCache
	pollers   pollers
}

func connect(o Options) *connection {
	if o.Queue == "" {
		o.Queue = DefaultQueue
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Getenv == nil {
		o.Getenv = func(string) (string, bool) { return "", false }
	}
	return &connection{client: o.Client, namespace: cmp.Or(o.Namespace, client.DefaultNamespace), queue: o.Queue, caller: o.Caller, turner: turner{desk: engine.NewDesk(o.Env, o.Log), env: o.Env, getenv: o.Getenv,
		quotas: &quotas{known: map[string]run.Breaker{}}, label: o.Label, log: o.Log, library: &library{Contents: o.Contents}}}
}

// contentCache has the runs that were read last, so that a content can be found by its hash alone
// by whoever has just looked at its run.
type contentCache struct {
	mu     sync.Mutex // guards what follows
	stores []*memory.Store
}

const keptHistories = 16

func (c *contentCache) keep(s *memory.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stores = append(c.stores, s)
	c.stores = c.stores[max(0, len(c.stores)-keptHistories):]
}

func (c *contentCache) find(hash string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.stores {
		if b, err := s.Get([]byte(journal.PrefixBlob + hash)); err == nil && journal.HashOf(b) == hash {
			return b, true
		}
	}
	return nil, false
}

// settingsCache has the settings of runs, by their hashes. They are shared and must not change.
type settingsCache struct {
	mu    sync.Mutex // guards what follows
	known map[string]*effect.Settings
}

const keptSettings = 128

// settingsOf finds settings that a run has.
func (c *connection) settingsOf(ctx context.Context, id, hash string) (*effect.Settings, error) {
	c.settings.mu.Lock()
	s := c.settings.known[hash]
	c.settings.mu.Unlock()
	if s != nil {
		return s, nil
	}
	h, err := c.read(ctx, id)
	if err != nil {
		return nil, err
	}
	content, err := h.store.Get([]byte(journal.PrefixBlob + hash))
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings %s: %w", id, hash, err)
	}
	if s, err = run.SettingsOf(content); err != nil {
		return nil, err
	}
	c.settings.mu.Lock()
	defer c.settings.mu.Unlock()
	if c.settings.known == nil || len(c.settings.known) >= keptSettings {
		c.settings.known = map[string]*effect.Settings{}
	}
	c.settings.known[hash] = s
	return s, nil
}

// refusal is an error of the server's as callers see it.
func (c *connection) refusal(err error, id string) error {
	var unreachable *serviceerror.Unavailable
	var noSpace *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	var late *serviceerror.DeadlineExceeded
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noSpace):
		return runtime.Refuse(runtime.ErrStoreUnreachable, "make it: temporal operator namespace create --namespace "+noSpace.Namespace,
			"the Temporal server has no namespace %q", noSpace.Namespace)
	case notFound(err):
		return unknown(id)
	case errors.As(err, &denied):
		return runtime.Refuse(runtime.ErrStoreUnreachable, "the key of [engine] may lack rights", "the Temporal server denies it: %v", err)
	case errors.As(err, &unreachable), errors.As(err, &late):
		return runtime.Refuse(runtime.ErrStoreUnreachable, "is it there? temporal operator cluster health", "the Temporal server does not answer: %v", err)
	}
	return err
}
