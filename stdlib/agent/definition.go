package agent

import (
	"starling/lang/effect"
	"starling/stdlib/project"
)

const (
	backendCommand  = project.Command
	backendScripted = project.Scripted
)

// Definition is who serves a request and how. It is recorded with the request: a change of the project file changes nothing that was asked.
type Definition struct {
	Agent        string   // whom the script asked for
	Backend      string   // "command" or "scripted"
	Serves       string   // name of the agent whose backend it is
	Command      []string // for command: program and arguments
	Dir          string   // for command: the folder of the project file, which relative programs are relative to
	Env          []string // for command: names of variables
	Function     string   // for scripted: name in the fake, or key of its dict agents
	Instructions string
	Envelope     effect.Payload // of a handoff: a dict, nil otherwise
}

func (d Definition) payload() effect.Payload {
	var o effect.Object
	return o.Text("agent", d.Agent).Text("backend", d.Backend).Text("serves", d.Serves).Texts("command", d.Command).Text("dir", d.Dir).
		Texts("env", d.Env).Text("function", d.Function).Text("instructions", d.Instructions).Raw("handoff", d.Envelope).Payload()
}
