package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// remoteVerbs are those that --server serves: what the tools of starling mcp do, and what looks at
// runs. The others work with files, secrets or processes of the machine that has the store.
func remoteVerbs() []string {
	return []string{"run", "wait", "cancel", "signal", "approve", "reject", "inbox", "decisions", "work", "claim", "heartbeat", "submit", "steer", "push", "queue", "remember",
		"ps", "query", "show", "logs", "steps", "graph", "cost", "trace", "rerun", "fork", "diff", "artifacts", "define", "schedule", "mcp"}
}

// local are verbs that need no store, and so have no use for a server, or none that does harm.
func local() []string {
	return []string{"version", "help", "doc", "check", "test", "fmt", "lsp", "init", "new", "completion", "config"}
}

// servedRemotely refuses a verb that --server does not serve.
func (c *call) servedRemotely(cmd *cobra.Command) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if c.serverFlag == "" || !top.HasParent() || slices.Contains(remoteVerbs(), top.Name()) || slices.Contains(local(), top.Name()) {
		return nil
	}
	return usage("work on the machine of the store; --server serves "+strings.Join(remoteVerbs(), ", "), "%s: it is not served by --server", top.Name())
}
