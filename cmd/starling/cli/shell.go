package cli

import (
	"starling/cmd/starling/form"
	"starling/cmd/starling/shell"
	"starling/runtime"
	"starling/runtime/postgres"
)

// command is a line that calls this program again, on the same store or server.
func (c *call) command(words ...string) string {
	return c.program + " " + shell.Line(append(c.global(), words...)...)
}

// global are the flags that name the same store or server.
func (c *call) global() (global []string) {
	if c.dirFlag != "" {
		global = append(global, "-C", c.dirFlag)
	}
	if c.serverFlag != "" {
		global = append(global, "--server", c.serverFlag)
	} else if store := c.storeSetting(); postgres.IsAddress(store) {
		global = append(global, "--store", postgres.WithoutPassword(store))
	} else if store != "" {
		global = append(global, "--store", store)
	}
	return global
}

// answers lists the commands that answer a gate: one per option, or one that asks for a payload.
func (c *call) answers(g runtime.Gate) []string {
	var more []string
	asked := len(g.Schema) > 0 && string(g.Schema) != "null" || len(g.Options) == 0
	if asked && !g.Editable { // what may be edited may also be kept
		more = append(more, "--data", form.Sample(g.Schema))
	}
	if g.Target != "" {
		more = append(more, "--as", g.Target)
	}
	if len(g.Options) == 0 {
		return []string{c.command(append([]string{"signal", g.Address}, more...)...)}
	}
	lines := make([]string, len(g.Options))
	for i, o := range g.Options {
		lines[i] = c.command(append(choose(g.Address, o.Name), more...)...)
	}
	return lines
}

// choose is the verb that chooses an option: the two commonest ones have their own.
func choose(address, option string) []string {
	if option == "approve" || option == "reject" {
		return []string{option, address}
	}
	return []string{"signal", address, "--choice", option}
}

// withAnswers fills in what only the client knows: how its user calls this program.
func (c *call) withAnswers(gates []runtime.Gate) {
	for i, g := range gates {
		gates[i].AnswerWith = c.answers(g)[0]
	}
}
