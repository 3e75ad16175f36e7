package tool

import (
	"path"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/confine"
	"starling/stdlib/project"
)

// Find says what an element of a list of tools stands for: a server ("NAME"), a tool of it or a
// pattern of tools ("NAME.get_*"), or a server that a script declares. known is false for a text
// whose server the project does not have.
func Find(s *effect.Settings, f *project.File, v starlark.Value) (g Grant, known bool, fault *effect.Error) {
	if r, ok := v.(*effect.Record); ok && r.RecordType() == effect.ToolServerType {
		g, fault = declared(s, f, effect.ViewOf(r.Plain()))
		return g, true, fault
	}
	text, _ := starlark.AsString(v)
	name, pattern, narrowed := strings.Cut(text, ".")
	t, known := f.Tool(name)
	if !known && name != Variables {
		return Grant{}, false, nil
	}
	g.Definition = definitionOf(t, path.Dir(s.ProjectFile))
	if !known {
		g.Definition = Definition{Name: Variables}.withDefaults()
	}
	if narrowed {
		g.Tools = []string{pattern}
	}
	return g, true, granted(s, f, &g)
}

// Own is [FindAll] of a list of which only what names the run's own server counts: the one whose
// tools those use who play an agent. nil is that nothing does.
func Own(f *project.File, list []starlark.Value) []Grant {
	if _, other := f.Tool(Variables); other {
		return nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v starlark.Value) bool {
		text, _ := starlark.AsString(v)
		name, _, _ := strings.Cut(text, ".")
		return name != Variables
	})
	grants, _, _ := FindAll(new(effect.Settings), f, list)
	return grants
}

// FindAll is Find of a list. What names no server is in others, in its order; servers that are
// named several times are one.
func FindAll(s *effect.Settings, f *project.File, list []starlark.Value) (grants []Grant, others []string, fault *effect.Error) {
	for _, v := range list {
		g, known, fault := Find(s, f, v)
		if fault != nil {
			return nil, nil, fault
		}
		if !known {
			text, _ := starlark.AsString(v)
			others = append(others, text)
			continue
		}
		i := slices.IndexFunc(grants, func(have Grant) bool { return have.Name == g.Name })
		switch {
		case i < 0:
			grants = append(grants, g)
		case string(grants[i].Definition.payload()) != string(g.Definition.payload()):
			return nil, nil, effect.Errorf(effect.KindRefused, "two tool servers are called %s; give one another name", g.Name)
		case grants[i].Tools == nil || g.Tools == nil:
			grants[i].Tools = nil
		default:
			grants[i].Tools = append(grants[i].Tools, g.Tools...)
		}
	}
	return grants, others, nil
}

// Unknown is the refusal of a text that names no tool server. A script of others is told the same
// of a server that the project lacks as of one that it is not granted: which there are is nothing
// that it may ask.
func Unknown(s *effect.Settings, f *project.File, text string) *effect.Error {
	name, _, _ := strings.Cut(text, ".")
	if s.Grant != "" {
		return ungranted(s, name)
	}
	names := append(f.ToolNames(), Variables)
	hint := diagnostic.DidYouMean(name, names)
	switch {
	case hint == "" && len(names) > 1:
		hint = "there are " + strings.Join(names, ", ")
	case hint == "":
		hint = "write [tools." + name + "] with a command or a url there"
	}
	return effect.Errorf(effect.KindRefused, "no tool server %q in %s; %s", name, project.Name, hint)
}

// declared is the server of mcp.server: one of the project, perhaps with fewer tools, or one that
// the script describes.
func declared(s *effect.Settings, f *project.File, r effect.View) (Grant, *effect.Error) {
	name := r.Text("name")
	var g Grant
	command, url := r.Texts("cmd"), r.Text("url")
	t, known := f.Tool(name)
	switch {
	case len(command) == 0 && url == "" && !known:
		return g, Unknown(s, f, name)
	case len(command) == 0 && url == "":
		g.Definition = definitionOf(t, path.Dir(s.ProjectFile))
	case known:
		return g, effect.Errorf(effect.KindRefused, "mcp.server: the project has a tool server %s; leave cmd and url out, or take another name", name)
	case s.Grant != "":
		return g, effect.Errorf(effect.KindDenied, "the script is not the project's own: it cannot declare the tool server %s; declare it under [tools.%s] and grant it", name, name)
	default:
		g.Definition = Definition{Name: name, Command: command, URL: url}.withDefaults()
		if fault := boxed(s, f, &g.Definition); fault != nil {
			return g, fault
		}
	}
	if d, err := contract.ParseDuration(r.Text("timeout")); err == nil && d > 0 {
		g.Timeout = min(d, 24*time.Hour)
	}
	g.Tools = patterns(r, "tools")
	return g, granted(s, f, &g)
}

// boxed gives a command of a script what sh.run would give it: the program must be allowed there,
// and it works in a sandbox.
func boxed(s *effect.Settings, f *project.File, d *Definition) *effect.Error {
	if len(d.Command) == 0 {
		return nil
	}
	program := d.Command[0]
	if !slices.Contains(f.Shell.Allow, program) {
		return effect.Errorf(effect.KindDenied, "mcp.server: the program %q is not allowed; add it to allow under [sh] in %s, or declare the server there under [tools.%s]", program, project.Name,
			d.Name)
	}
	d.Dir = path.Dir(s.ProjectFile)
	d.Sandbox = &Sandbox{Read: confine.From(d.Dir, append(slices.Clone(f.Shell.Read), program)), Write: confine.From(d.Dir, f.Shell.Write), Network: slices.Contains(f.Shell.Network, program), Level: f.Shell.Sandbox}
	return nil
}

// granted narrows a server to what a script of others is granted, and refuses one of which it is
// granted nothing.
func granted(s *effect.Settings, f *project.File, g *Grant) *effect.Error {
	if s.Grant == "" || g.own() {
		return nil
	}
	var may []string
	for _, text := range f.Granted(s.Grant).Tools {
		name, pattern, narrowed := strings.Cut(text, ".")
		switch {
		case name != g.Name:
		case !narrowed:
			return nil
		default:
			may = append(may, pattern)
		}
	}
	if may == nil {
		return ungranted(s, g.Name)
	}
	g.Granted = may
	return nil
}

func ungranted(s *effect.Settings, name string) *effect.Error {
	return effect.Errorf(effect.KindDenied, "the script is not the project's own and is not granted the tool server %q; add it to tools under [grants.%q] in %s", name, s.Grant, project.Name)
}
