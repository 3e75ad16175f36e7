package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"starling/cmd/starling/worker"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/stdlib/git"
)

// workerVerb is a call of the verb work.
type workerVerb struct {
	call *call

	as    string
	with  string
	limit int
	lease string
	fake  string
}

// workCommand is the verb work.
func workCommand(c *call) *cobra.Command {
	v := &workerVerb{call: c}
	cmd := &cobra.Command{
		Use:     "work",
		Short:   "Do the work of inbox agents with agents of this machine",
		GroupID: "decisions",
		Long: `Claim the work of an agent with backend = "inbox" as it comes, and have the agent of that name in the starling.toml here do it: with its backends, its programs, its folder.
What it tells of, what it cost and what it is told go to and fro meanwhile. Work of a worker that has died is offered again when --lease is over. Interrupted, it stops its agents, and their work is offered again in a second.`,
		Example: `  starling --server https://starling.example.org:7070 work --as builder --limit 4`,
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.work(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&v.as, "as", "", "the `AGENT` whose work it is; the token is of that name, or may act as it")
	f.StringVar(&v.with, "with", "", "the `AGENT` here that does it (default: the same name)")
	f.IntVar(&v.limit, "limit", 1, "how many pieces at once: `N`")
	f.StringVar(&v.lease, "lease", "30s", "work is offered again when nothing was heard of its worker for this `DURATION`")
	f.StringVar(&v.fake, "fake", "", "have the scripted agents of `FILE` do it")
	return cmd
}

func (v *workerVerb) work(ctx context.Context) (err error) {
	if v.as == "" {
		return usage("such as --as builder", "work: --as is missing")
	}
	if v.limit < 1 {
		return usage("", "--limit: got %d, want 1 at least", v.limit)
	}
	lease, err := parseLasting("--lease", v.lease)
	if err != nil {
		return err
	}
	if lease < runtime.MinLease || lease > runtime.MaxLease {
		return usage("", "got a lease of %s, want one from %s to %s", lease, runtime.MinLease, runtime.MaxLease)
	}
	settings, err := v.call.settings(v.call.place.Project, v.fake)
	if err != nil {
		return err
	}
	with := cmp.Or(v.with, v.as)
	if err := v.serves(settings, with); err != nil {
		return err
	}
	own, leave, err := v.bench()
	if err != nil {
		return err
	}
	defer leave()
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	v.call.notice("%s works for %s, %d at once", with, v.as, v.limit)
	err = worker.Work(ctx, worker.Options{Engine: s, As: v.as, Own: own, Agent: with, Limit: v.limit, Lease: lease,
		Start: runtime.StartRequest{Settings: *settings, Env: v.call.values(settings.Env)}, Key: func() string { return requestKey("") }, Log: v.call.notice})
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// serves refuses an agent that could not do the work.
func (v *workerVerb) serves(s *effect.Settings, name string) error {
	a, _, candidates := v.call.viewAgent(s, name)
	if a.Fault != "" {
		return runtime.Refuse(runtime.ErrUnknownName, "--with names another one of the starling.toml here", "%s", a.Fault)
	}
	for _, c := range candidates {
		if c.Backend == "inbox" {
			return usage("give it a backend here that does the work, or name another agent with --with",
				"the agent %q waits for a worker itself", name)
		}
	}
	for _, variable := range s.Env {
		if _, set := v.call.getenv(variable); !set && !slices.Contains(s.Optional, variable) {
			return usage("set it, or take it out of starling.toml", "the variable %s, which the project here declares, is not set", variable)
		}
	}
	return nil
}

// bench is an engine of this process alone. Its store is in memory, its locks are in a folder that
// goes away with it.
func (v *workerVerb) bench() (e runtime.Engine, leave func(), err error) {
	folder, err := os.MkdirTemp("", "starling-work")
	if err != nil {
		return nil, nil, err
	}
	own, err := engine.Open(memory.New(), v.call.env(), engine.Options{Folder: folder, Log: v.call.notice, Clock: v.call.clock, Head: git.Head,
		Env: v.call.getenv, Enlist: v.call.enlist, Doubt: v.call.doubt()})
	if err != nil {
		os.RemoveAll(folder)
		return nil, nil, err
	}
	return own, func() {
		if err := errors.Join(own.Close(), os.RemoveAll(folder)); err != nil {
			v.call.notice("warning: leaving the agents: %v", err)
		}
	}, nil
}
