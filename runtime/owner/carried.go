package owner

import (
	"context"
	"errors"
	"maps"
	"sync"

	"starling/runtime"
)

// carried remembers which runs a session has made some owner carry, and the environment that it
// brought for each. When the owner is lost, so is what it had in memory, and the session brings it
// to the next one.
type carried struct {
	mu   sync.Mutex // protects what is below
	envs map[string]map[string]string
}

func (c *carried) add(env map[string]string, runs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.envs == nil {
		c.envs = map[string]map[string]string{}
	}
	for _, run := range runs {
		all := maps.Clone(c.envs[run])
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, env)
		c.envs[run] = all
	}
}

func (c *carried) all() map[string]map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.envs)
}

// forget drops runs that have ended.
func (c *carried) forget(ended func(run string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.envs, func(run string, _ map[string]string) bool { return ended(run) })
}

// again carries with a new owner what was carried with the last one and has not ended. A run that
// the engine refuses to carry is not the session's trouble now: whoever asks for it hears why.
func (c *carried) again(ctx context.Context, e runtime.Engine) error {
	if len(c.all()) == 0 {
		return nil
	}
	unfinished, err := e.List(ctx, runtime.Query{})
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrDenied {
		return nil // a token that may not look: whoever may carries the runs
	}
	if err != nil {
		return err
	}
	goes := map[string]bool{}
	for _, s := range unfinished.Runs {
		goes[s.ID] = true
	}
	c.forget(func(run string) bool { return !goes[run] })
	for run, env := range c.all() {
		_, err := e.Resume(ctx, runtime.ResumeRequest{Runs: []string{run}, Env: env})
		if refusal := (*runtime.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
			return err
		}
	}
	return nil
}
