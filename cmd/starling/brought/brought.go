// Package brought says what an export brings with it: what would be run, or decides what is.
package brought

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"starling/runtime/archive"
	"starling/stdlib/project"
)

// Item is something that an export brings.
type Item struct {
	// Kind is workspace, scripted, rights, project, agent, program, sandbox, tool, notify, secret,
	// filter or grant.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Is   string `json:"is"`
}

// Of lists what the runs of an export bring, each once.
func Of(x *archive.File) []Item {
	list := []Item{}
	for _, r := range x.Runs {
		s := r.Settings
		all := []Item{{"workspace", "", Word(s.Workspace)}}
		if s.FakeGiven {
			all = append(all, Item{"scripted", "", Word(s.FakeFile) + ", which stays with the run"})
		}
		rights := "all that the project has"
		if s.Grant != "" {
			rights = "what is granted to " + Word(s.Grant)
		}
		all = append(all, Item{"rights", Word(r.Last.Script), rights})
		if s.ProjectFile != "" || len(s.Project) > 0 {
			all = append(all, Item{"project", "", Word(s.ProjectFile)})
			all = append(all, projectBrings(s.ProjectFile, s.Project)...)
		}
		for _, b := range all {
			if !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	return list
}

// projectBrings lists what a project file says that would be run.
func projectBrings(file string, text []byte) (list []Item) {
	f, err := project.Parse(file, text)
	if err != nil {
		return []Item{{"project", "", "cannot be read: " + Word(err.Error())}}
	}
	add := func(kind, name, is string) { list = append(list, Item{kind, Word(name), is}) }
	for _, a := range f.Agents {
		add("agent", a.Name, agentIs(&a))
	}
	for _, p := range f.Shell.Allow {
		add("program", p, "for sh.run")
	}
	if f.Shell.Sandbox != project.WholeSandbox {
		add("sandbox", "", f.Shell.Sandbox)
	}
	for _, t := range f.Tools {
		add("tool", t.Name, words(append(slices.Clone(t.Command), t.URL)))
	}
	for _, n := range f.Notify {
		add("notify", n.Name, words(append(slices.Clone(n.Command), n.Webhook)))
	}
	for _, s := range f.Secrets {
		if len(s.Command) > 0 {
			add("secret", s.Name, words(s.Command))
		} else {
			add("secret", s.Name, words([]string{"of", s.Env, s.File}))
		}
	}
	for _, name := range f.Filters {
		add("filter", name, "of git")
	}
	for _, g := range f.Grants {
		add("grant", g.Script, words(slices.Concat(g.Agents, g.Programs, g.Hosts, g.Files, g.Tools)))
	}
	return list
}

// agentIs says what an agent is.
func agentIs(a *project.Agent) string {
	if len(a.Backends) > 0 {
		return "one of " + words(a.Backends)
	}
	is := append([]string{a.Backend}, a.Command...)
	return words(append(is, a.Server, a.Tool, a.Model, a.URL, a.Cassette))
}

// words are those of a command line that are not empty.
func words(list []string) string {
	var all []string
	for _, w := range list {
		if w != "" {
			all = append(all, Word(w))
		}
	}
	return strings.Join(all, " ")
}

// Word is a text of somebody else, quoted where it could be taken for more than one, or for a line
// of ours.
func Word(text string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// Print writes a line for each.
func Print(to io.Writer, list []Item) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, b := range list {
		fmt.Fprintf(w, "    %s\t%s\n", b.Kind, strings.TrimPrefix(b.Name+": "+b.Is, ": "))
	}
	return w.Flush()
}
