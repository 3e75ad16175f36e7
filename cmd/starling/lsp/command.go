package lsp

import (
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"starling/cmd/starling/place"
	"starling/cmd/starling/suite"
	"starling/lang/check"
	"starling/lang/effect"
	"starling/stdlib"
	"starling/stdlib/agent"
)

// Program is the program that the verb is part of.
type Program struct {
	Version     func() string
	Environment func(path string) *effect.Environment       // what a file sees
	Settings    func(file string) (*effect.Settings, error) // what runs are pinned to by a project file
}

// Command is the verb lsp.
func Command(in io.Reader, out io.Writer, p Program, args cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{
		Use:     "lsp",
		Short:   "Serve an editor, over the Language Server Protocol on standard input and output",
		GroupID: "scripts",
		Long: `Serve an editor over the Language Server Protocol on standard input and output, as editors start it. It reads scripts and starling.toml, and touches
no store; nothing is run but the top level of the project's fake, for the names of its agents.`,
		Args: args,
		RunE: func(*cobra.Command, []string) error {
			return Serve(p.host(), in, out)
		},
	}
}

// host makes what a server asks for, once.
func (p Program) host() Host {
	scripts := sync.OnceValue(func() *effect.Environment { return p.Environment("") })
	tests := sync.OnceValue(func() *effect.Environment { return p.Environment(suite.Suffix) })
	return Host{Version: p.Version(), Library: stdlib.Library, Modules: stdlib.LibraryNames(),
		Environment: func(path string) *effect.Environment {
			if strings.HasSuffix(path, suite.Suffix) {
				return tests()
			}
			return scripts()
		},
		Root: func(path string) (string, bool) { return place.FindProject(filepath.Dir(path)) },
		Project: func(root string) (check.Project, error) {
			settings, err := p.Settings(filepath.Join(root, place.ProjectFile))
			if err != nil {
				return check.Project{}, err
			}
			return agent.Known(agent.Machines(scripts()), settings)
		}}
}
