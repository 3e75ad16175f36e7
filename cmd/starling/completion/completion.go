// Package completion is the verb completion, and what shells are offered for the words of commands:
// runs, open gates, definitions and agents, as the store and the project have them now.
//
// What a word stands for is taken from the line that shows the usage of its command, so that a verb
// says it once. Whatever goes wrong is silent: a shell that completes has nowhere to say it.
package completion

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// patience is how long a shell waits for names.
const patience = 2 * time.Second

// offered is how many names of a kind are offered.
const offered = 200

// Host is where names are looked up.
type Host struct {
	Stdout io.Writer
	Open   func(context.Context) (engine runtime.Engine, leave func(), err error) // the store, to look
	Agents func() []string                                                        // of the project
}

// shells are those that there are scripts for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// Command is the verb completion.
func Command(h Host, args cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print what makes a shell complete commands",
		GroupID:   "store",
		ValidArgs: shells(),
		Long: `Print a script that makes a shell complete commands, flags, and the names of runs, gates, definitions and agents:

  bash         source <(starling completion bash)
  zsh          starling completion zsh > "${fpath[1]}/_starling"
  fish         starling completion fish > ~/.config/fish/completions/starling.fish
  powershell   starling completion powershell | Out-String | Invoke-Expression`,
		Args: args,
		RunE: func(cmd *cobra.Command, operands []string) error {
			root := cmd.Root()
			switch operands[0] {
			case "bash":
				return root.GenBashCompletionV2(h.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(h.Stdout)
			case "fish":
				return root.GenFishCompletion(h.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(h.Stdout)
			}
			return runtime.Refusef(runtime.ErrUsage, "completion: got the shell %q, want one of %s", operands[0], strings.Join(shells(), ", "))
		},
	}
}

// Attach has every command offer what its operands and flags stand for.
func Attach(h Host, root *cobra.Command) {
	for _, cmd := range root.Commands() {
		Attach(h, cmd)
		_, operands, _ := strings.Cut(cmd.Use, " ")
		if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = h.operand(strings.Fields(operands))
		}
		for _, flag := range []string{"as", "agent", "backend"} {
			if cmd.Flags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
					return h.Agents(), cobra.ShellCompDirectiveNoFileComp
				})
			}
		}
	}
}

// operand offers what the next operand stands for, as the usage names it.
func (h Host) operand(usage []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(usage) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		word := usage[min(len(args), len(usage)-1)]
		if len(args) >= len(usage) && !strings.Contains(word, "...") && !strings.Contains(word, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		return h.names(ctx, word)
	}
}

// names are those that a word of a usage line stands for.
func (h Host) names(ctx context.Context, word string) (names []cobra.Completion, files cobra.ShellCompDirective) {
	files = cobra.ShellCompDirectiveNoFileComp
	switch {
	case strings.Contains(word, "GATE"):
		return h.ask(ctx, runtime.Query{Gates: true, Limit: offered}, func(l *runtime.Listing) (names []cobra.Completion) {
			for _, g := range l.Gates {
				names = append(names, cobra.CompletionWithDesc(g.Address, line(g.Prompt)))
			}
			return names
		}), files
	case strings.Contains(word, "RUN"):
		return h.runs(ctx), files
	case strings.Contains(word, "AGENT"):
		return h.Agents(), files
	case strings.Contains(word, "SCRIPT|NAME"), word == "[NAME":
		return h.definitions(ctx), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

func (h Host) runs(ctx context.Context) []cobra.Completion {
	return h.ask(ctx, runtime.Query{All: true, Limit: offered}, func(l *runtime.Listing) (names []cobra.Completion) {
		for _, r := range l.Runs {
			names = append(names, cobra.CompletionWithDesc(r.ID, string(r.Status)+" "+r.Script))
		}
		return names
	})
}

func (h Host) definitions(ctx context.Context) (names []cobra.Completion) {
	engine, leave, err := h.Open(ctx)
	if err != nil {
		return nil
	}
	defer leave()
	kept, err := runtime.Extension[runtime.Definitions](engine)
	if err != nil {
		return nil
	}
	list, _ := kept.Defined(ctx, "")
	for _, d := range list {
		names = append(names, d.Name)
	}
	return names
}

// ask gives what the store answers, nothing if it does not.
func (h Host) ask(ctx context.Context, q runtime.Query, names func(*runtime.Listing) []cobra.Completion) []cobra.Completion {
	engine, leave, err := h.Open(ctx)
	if err != nil {
		return nil
	}
	defer leave()
	l, err := engine.List(ctx, q)
	if err != nil {
		return nil
	}
	return names(l)
}

// line is the first line of a text.
func line(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
