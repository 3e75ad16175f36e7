package lang

import (
	"starling/lang/check"
	"starling/lang/effect"
	"starling/lang/infer"
)

// children infers what the child scripts of a program take and give, each once, and only when
// somebody asks.
type children struct {
	env    *effect.Environment
	agents func(name string) infer.Agent
	known  map[*Module]infer.Child // one that is being inferred is there, and nothing is known of it
}

func newChildren(env *effect.Environment, project check.Project) *children {
	return &children{env, project.Contracts, map[*Module]infer.Child{}}
}

// of gives what is known of the children that a bundle names.
func (c *children) of(b *Bundle) func(script string) infer.Child {
	return func(script string) infer.Child {
		bundle, ok := b.Child(script)
		if !ok {
			return infer.Child{}
		}
		if child, known := c.known[bundle.entry]; known {
			return child
		}
		c.known[bundle.entry] = infer.Child{}
		units, list := compileUnits(bundle, c.env, nil, nil)
		var child infer.Child
		if p := program(bundle, units); p.head(units[len(units)-1]).Err() == nil {
			child.Inputs = p.Inputs
		}
		if list.Err() == nil {
			child.Types = infer.Files(filesOf(bundle, units, c), c.env)
		}
		c.known[bundle.entry] = child
		return child
	}
}
