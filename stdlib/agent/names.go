package agent

import (
	"slices"

	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// Names lists the agents that a run with these settings would find: those of its fake, as the dict
// agents or their functions call them, and those of its project file. An error says why the fake or
// the file cannot be read.
func Names(load LoadScript, s *effect.Settings) ([]string, error) {
	return (&fakes{load: load}).names(s)
}

func (f *fakes) names(s *effect.Settings) ([]string, error) {
	fake, fault := f.of(s)
	if fault != nil {
		return nil, fault
	}
	p, fault := projectOf(s)
	if fault != nil {
		return nil, fault
	}
	return everybody(s, p, fake), nil
}

// everybody lists the agents of a project file, and those of a fake that play none of these: a
// function plays my-agent as my_agent, and that is one agent.
func everybody(s *effect.Settings, p *project.File, fake *fake) []string {
	names := p.Names()
	for _, played := range fake.names() {
		own := slices.ContainsFunc(names, func(name string) bool {
			return name == played || functionName(name) == played
		})
		if !own && !isTest(s.FakeFile, played) {
			names = append(names, played)
		}
	}
	return names
}

// Known is what a check of scripts can be told of the agents of a run with these settings, and of
// its tool servers. Errors are those of [Names].
func Known(load LoadScript, s *effect.Settings) (check.Project, error) {
	r := resolver{&fakes{load: load}}
	names, err := r.fakes.names(s)
	if err != nil {
		return check.Project{}, err
	}
	f, _ := projectOf(s) // it was read for the names
	known := check.Project{Tools: append(f.ToolNames(), tool.Variables)}
	for _, name := range names {
		a := r.known(s, name)
		if said, ok := f.Agent(name); ok {
			a.Contracts = check.Contracts{Input: contractOf(said.Input), Output: contractOf(said.Output)}
		}
		known.Agents = append(known.Agents, a)
	}
	return known, nil
}

// contractOf parses what a project file has been checked to say, nil if it says nothing.
func contractOf(text string) *contract.Contract {
	if text == "" {
		return nil
	}
	c, err := contract.Parse(project.Name, text)
	if err != nil {
		return nil
	}
	return c
}

// known is what is known of one agent; of one that cannot be asked nothing but its name.
func (r resolver) known(s *effect.Settings, name string) check.Agent {
	p, fault := r.find(s, role{name: name}, nil, nil)
	if fault != nil {
		return check.Agent{Name: name, Own: true}
	}
	a := check.Agent{Name: name}
	for _, c := range p.candidates {
		a.Steers = append(a.Steers, c.steering())
		switch c.Backend {
		case backendAnthropic, backendOpenAI, backendInbox, backendMCP:
		default:
			a.Own = true
		}
	}
	return a
}
