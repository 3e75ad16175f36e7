package cli

import (
	"github.com/spf13/cobra"

	"starling/cmd/starling/build"
	"starling/cmd/starling/layout"
	"starling/cmd/starling/lsp"
	"starling/cmd/starling/sources"
	"starling/lang/effect"
)

// fmtCommand is the verb fmt.
func fmtCommand(c *call) *cobra.Command {
	return c.withJSON(layout.Command(layout.Host{Stdin: c.stdin, Stdout: c.stdout, Raw: c.stdout.Raw(), Scripts: sources.Scripts,
		JSON: func() bool { return c.json }, Answer: c.answerJSON}, operands(1, -1)))
}

// lspCommand is the verb lsp.
func lspCommand(c *call) *cobra.Command {
	settings := func(file string) (*effect.Settings, error) { return c.settings(file, "") }
	cmd := lsp.Command(c.stdin, c.stdout.Raw(), lsp.Program{Version: build.Version, Environment: c.environmentOf, Settings: settings}, operands(0, 0))
	cmd.PreRun = func(*cobra.Command, []string) { c.heap.AllowMuch() } // each key makes ten times as much as is kept
	return cmd
}
