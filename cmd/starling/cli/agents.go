package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.starlark.net/starlark"

	"starling/cmd/starling/probe"
	"starling/cmd/starling/table"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/agent"
)

// agentsVerb is a call of the verb agents.
type agentsVerb struct{ call *call }

// agentsCommand is the verb agents.
func agentsCommand(c *call) *cobra.Command {
	v := &agentsVerb{call: c}
	cmd := &cobra.Command{
		Use:     "agents",
		Short:   "Look at the agents of the project, and try them",
		GroupID: "look",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(v.listCommand("ls", "List the agents and whether they can be asked", 0),
		v.listCommand("show AGENT", "Show what an agent is told and what serves it", 1), agentsTestCommand(c))
	return cmd
}

// listCommand is a verb that shows agents: all of them, or those that are named.
func (v *agentsVerb) listCommand(use, short string, n int) *cobra.Command {
	var fake string
	cmd := &cobra.Command{Use: use, Short: short, Args: operands(n, n),
		RunE: func(_ *cobra.Command, args []string) error { return v.listAgents(fake, args) }}
	cmd.Flags().StringVar(&fake, "fake", "", "with the scripted agents of `FILE`")
	v.call.jsonFlag(cmd)
	return cmd
}

func agentsTestCommand(c *call) *cobra.Command {
	v := &agentsVerb{call: c}
	var fake string
	var timeout time.Duration
	var typed, edit, deny bool
	cmd := &cobra.Command{
		Use:   "test AGENT",
		Short: "Ask every backend of an agent for one word, or have it play small tasks",
		Long: `Send a real request to every backend of an agent, one after the other: it asks for one word. It costs what such a request costs. Nothing is recorded.
--typed asks for a reply with a contract. --edit has it make a file, and --deny has it try that without the right to; both in an empty folder
of their own. So you see in a minute whether a new version of a program still works. The exit code is 1 unless one backend does all that was played.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			trials := probe.Trials(typed, edit, deny)
			return v.testAgent(cmd.Context(), fake, args[0], trials, timeout)
		},
	}
	cmd.Flags().StringVar(&fake, "fake", "", "with the scripted agents of `FILE`")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "for each request")
	cmd.Flags().BoolVar(&typed, "typed", false, "ask for a reply that meets a contract, too")
	cmd.Flags().BoolVar(&edit, "edit", false, "have it make a file, too")
	cmd.Flags().BoolVar(&deny, "deny", false, "have it try to make a file without the right to, too")
	c.jsonFlag(cmd)
	return cmd
}

// agentsDocument is what agents prints.
type agentsDocument struct {
	Schema string      `json:"schema"`
	Agents []agentView `json:"agents"`
}

// agentView is an agent as a call of it would find it.
type agentView struct {
	Name     string        `json:"name"`
	Fault    string        `json:"fault,omitempty"` // why it cannot be asked
	Backends []backendView `json:"backends,omitempty"`
	Timeout  string        `json:"timeout,omitempty"`
	Retries  int           `json:"retries"`
	Reasks   int           `json:"reasks"`
	Returns  string        `json:"output,omitempty"` // contract
}

// backendView is one of those who serve an agent.
type backendView struct {
	Name     string   `json:"name"`
	What     string   `json:"what"`
	Lacks    string   `json:"lacks,omitempty"`
	Mend     string   `json:"mend,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	Modifies bool     `json:"modifies,omitempty"`

	Probe   string `json:"probe,omitempty"` // what agents test came to: "ok", or why not
	Text    string `json:"text,omitempty"`  // what it said
	Elapsed string `json:"elapsed,omitempty"`

	Trials []probe.View `json:"trials,omitempty"`
}

// listAgents shows one agent, or all.
func (c *agentsVerb) listAgents(fake string, names []string) error {
	settings, err := c.call.settings(c.call.place.Project, fake)
	if err != nil {
		return err
	}
	only := len(names) == 1
	if !only {
		if names, err = agent.Names(agent.Machines(c.call.env()), settings); err != nil {
			return err
		}
	}
	doc := agentsDocument{runtime.Schema, []agentView{}}
	for _, name := range names {
		v, _, _ := c.call.viewAgent(settings, name)
		if only && v.Fault != "" {
			return runtime.Refusef(runtime.ErrUnknownName, "%s", v.Fault)
		}
		doc.Agents = append(doc.Agents, v)
	}
	switch {
	case c.call.json:
		return c.call.answerJSON(doc)
	case only:
		c.printAgent(doc.Agents[0])
		return nil
	}
	return c.printAgents(doc.Agents)
}

// viewAgent resolves a call of an agent as a script's would be.
func (c *call) viewAgent(s *effect.Settings, name string) (agentView, *effect.Request, []agent.Candidate) {
	var args effect.Object
	r := &effect.Request{Kind: "agent", Name: name, Args: args.Text("who", name).Text("task", "Reply with the word ready and nothing else.").Payload()}
	if fault := c.env().Handlers[r.Kind].Resolve(s, r); fault != nil {
		return agentView{Name: name, Fault: fault.Message}, r, nil
	}
	candidates, err := agent.Candidates(r)
	if err != nil {
		return agentView{Name: name, Fault: err.Error()}, r, nil
	}
	v := agentView{Name: name, Timeout: r.Policy.Timeout.String(), Retries: r.Policy.Retries, Reasks: r.Policy.Reasks, Returns: r.Returns}
	for _, candidate := range candidates {
		b := backendView{Name: candidate.Serves, What: candidate.What(), Tools: candidate.Tools, Modifies: candidate.Modifies}
		b.Lacks, b.Mend = candidate.Lacks(c.getenv)
		v.Backends = append(v.Backends, b)
	}
	return v, r, candidates
}

func (v *agentsVerb) printAgents(agents []agentView) error {
	t := table.New(v.call.paper(), "AGENT", "BACKEND", "IS", "STATE")
	for _, a := range agents {
		if a.Fault != "" {
			t.Row(a.Name, "", "", a.Fault)
		}
		for _, b := range a.Backends {
			t.Row(a.Name, b.Name, b.What, cmp.Or(b.Lacks, "ready"))
		}
	}
	return t.Write(v.call.stdout)
}

func (v *agentsVerb) printAgent(a agentView) {
	v.call.print("%s  timeout %s, retries %d, reasks %d", a.Name, a.Timeout, a.Retries, a.Reasks)
	if a.Returns != "" {
		v.call.print("  output   %s", a.Returns)
	}
	for _, b := range a.Backends {
		v.call.print("  backend  %s: %s: %s", b.Name, b.What, cmp.Or(b.Lacks, "ready"))
		if b.Mend != "" {
			v.call.print("           %s", b.Mend)
		}
		if len(b.Tools) > 0 {
			v.call.print("           tools: %s", strings.Join(b.Tools, ", "))
		}
		if b.Modifies {
			v.call.print("           may change files")
		}
	}
}

// testAgent asks every backend of an agent.
func (c *agentsVerb) testAgent(ctx context.Context, fake, name string, trials []probe.Trial, timeout time.Duration) error {
	settings, err := c.call.settings(c.call.place.Project, fake)
	if err != nil {
		return err
	}
	v, r, candidates := c.call.viewAgent(settings, name)
	if v.Fault != "" {
		return runtime.Refusef(runtime.ErrUnknownName, "%s", v.Fault)
	}
	c.call.code = 1
	for i := range candidates {
		b := &v.Backends[i]
		start := time.Now()
		word := *r
		word.Returns = "" // whatever the agent's contract says, a word is asked for
		reply, err := c.call.probe(ctx, settings, &word, i, timeout, func(string, starlark.Value) {})
		if err != nil {
			return err
		}
		b.Elapsed, b.Text, b.Probe = time.Since(start).Round(time.Millisecond).String(), probe.Spoken(reply), "ok"
		good := reply.Err == nil
		if !good {
			b.Probe = reply.Err.Message
		}
		if !c.call.json {
			c.call.print("%s  %s  %s  %s", b.Name, b.What, b.Elapsed, cmp.Or(strings.TrimSpace(b.Probe+" "+b.Text), "ok"))
		}
		for _, t := range trials {
			var warned []string
			done, err := t.Play(ctx, settings, r, candidates[i], func(ctx context.Context, s *effect.Settings, r *effect.Request) (effect.Reply, error) {
				return c.call.probe(ctx, s, r, i, timeout, func(kind string, v starlark.Value) {
					if kind == "warning" {
						warned = append(warned, effect.ViewOf(v).Text("text"))
					}
				})
			})
			if err != nil {
				return err
			}
			if done.State == "failed" {
				done.Text = strings.Join(append([]string{done.Text}, warned...), "; ")
			}
			good = good && done.State != "failed"
			b.Trials = append(b.Trials, done)
			if !c.call.json {
				c.call.print("%s  %s  %s", b.Name, t.Name, done)
			}
		}
		if good {
			c.call.code = 0
		}
	}
	if c.call.json {
		return c.call.answerJSON(agentsDocument{runtime.Schema, []agentView{v}})
	}
	return nil
}

// probe performs one attempt that belongs to no run.
func (c *call) probe(ctx context.Context, s *effect.Settings, r *effect.Request, backend int, timeout time.Duration,
	emit func(kind string, v starlark.Value)) (effect.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args, err := r.Args.Value()
	if err != nil {
		return effect.Reply{}, err
	}
	resolved, err := r.Resolved.Value()
	if err != nil {
		return effect.Reply{}, err
	}
	deadline, _ := ctx.Deadline()
	return c.env().Handlers[r.Kind].Perform(ctx, &effect.Attempt{Run: "probe", Step: r.Name, Kind: r.Kind, Number: 1, Backend: backend, Key: requestKey(""), Args: args,
		Resolved: resolved, Returns: r.Returns, Deadline: deadline, Settings: s, Env: c.getenv, Emit: emit}), nil
}
