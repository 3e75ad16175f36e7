package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"starling/cmd/starling/place"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/agent"
	"starling/stdlib/project"
)

const (
	greetTime     = 20 * time.Second // that a program has to tell of itself
	greetTogether = 4                // programs at once
)

// meeting greets the agents' backends and the tool servers of a project, each once. Nil greets
// nobody.
type meeting struct {
	c        *call
	settings *effect.Settings // of the project that was found to be trusted: nothing of it is read again
	file     *project.File
	asked    []*greeted
}

// greeted is what one of them says.
type greeted struct {
	who   string // "agent NAME" or "tools NAME"
	greet func(ctx context.Context) (agent.Greeting, bool)

	is   agent.Greeting
	said bool // there was something to greet
}

// agents has the backends greeted that lack nothing.
func (m *meeting) agents(views []backendView, candidates []agent.Candidate) {
	for i, v := range views {
		if m == nil || v.Lacks != "" || m.of("agent "+v.Name) != nil {
			continue
		}
		m.asked = append(m.asked, &greeted{who: "agent " + v.Name,
			greet: func(ctx context.Context) (agent.Greeting, bool) {
				return agent.Greet(ctx, candidates[i], m.settings, m.c.getenv)
			}})
	}
}

// servers has the tool servers greeted that lack nothing.
func (m *meeting) servers(views []serverView) {
	for _, v := range views {
		if m == nil || v.Lacks != "" {
			continue
		}
		m.asked = append(m.asked, &greeted{who: "tools " + v.Name,
			greet: func(ctx context.Context) (agent.Greeting, bool) { return m.greetServer(ctx, v.Name), true }})
	}
}

// wait returns when all have answered, or their time is over.
func (m *meeting) wait(ctx context.Context) {
	if m == nil {
		return
	}
	var all sync.WaitGroup
	places := make(chan struct{}, greetTogether)
	for _, g := range m.asked {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, greetTime)
			defer cancel()
			g.is, g.said = g.greet(ctx)
		})
	}
	all.Wait()
}

// of is what one says, nil where it was not greeted.
func (m *meeting) of(who string) *greeted {
	if m == nil {
		return nil
	}
	for _, g := range m.asked {
		if g.who == who {
			return g
		}
	}
	return nil
}

// tell adds to what was found what was said. Nil, who was not greeted, has said nothing.
func (g *greeted) tell(f *finding) {
	if g == nil || !g.said {
		return
	}
	if g.is.Version != "" {
		f.Is += " " + g.is.Version
	}
	switch {
	case g.is.Fault == "" && g.is.Login != "":
		f.Is += ", " + g.is.Login
	case g.is.Fault != "":
		f.Is, f.Mend, f.State = f.Is+": "+g.is.Fault, g.is.Mend, faulty
		if g.is.Doubt {
			f.State = absent
		}
	}
}

// greetServer starts a tool server, or turns to it, and counts its tools.
func (m *meeting) greetServer(ctx context.Context, name string) agent.Greeting {
	more := m.c.command("tools", "ls", name) + " says more"
	p, err := m.c.openTool(ctx, m.settings, m.file, name)
	if err != nil {
		return agent.Greeting{Fault: err.Error(), Mend: more}
	}
	defer p.Close()
	tools, _, fault := p.Definitions(ctx, name)
	if fault != nil {
		return agent.Greeting{Fault: fault.Message, Mend: more}
	}
	return agent.Greeting{Login: fmt.Sprintf("tools: %d", len(tools))}
}

// distrust says why the programs that a project names are not started unasked, "" where they are:
// whoever has only fetched it has not read what it would start, and where it would send a key.
func (c *call) distrust(ctx context.Context, settings *effect.Settings) string {
	const unknown = "nothing of this project has been run here, and it has not been trusted"
	if c.place.Database == "" && !place.Exists(c.place.Store) {
		return unknown
	}
	s, kept, err := openFor[runtime.Trusts](ctx, c, c.door().OpenReader)
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUnknownRun { // there is no store yet
		return unknown
	}
	if err != nil {
		return "whether the project is trusted cannot be read: " + err.Error()
	}
	defer c.leave(s)
	t, err := kept.Trust(ctx, runtime.TrustRequest{Settings: *settings, Look: true})
	switch {
	case err != nil:
		return "whether the project is trusted cannot be read: " + err.Error()
	case !t.Known:
		return unknown
	case t.Changed():
		return "the project has changed since it was last run here: " + t.Summary()
	}
	return ""
}
