package cli

import (
	"github.com/spf13/cobra"

	"starling/cmd/starling/layout"
)

// fmtCommand is the verb fmt.
func fmtCommand(c *call) *cobra.Command {
	return layout.Command(layout.Host{Stdin: c.stdin, Stdout: c.stdout, Raw: c.stdout.Raw(), Scripts: scriptsOf}, operands(1, -1))
}
