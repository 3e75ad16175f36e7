package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"starling/cmd/starling/build"
	"starling/cmd/starling/completion"
	"starling/cmd/starling/jq"
	"starling/cmd/starling/place"
	"starling/cmd/starling/trace"
	"starling/lang/diagnostic"
)

const exitCodeTopic = `Exit codes:
  0 ok   1 run failed or cancelled   2 usage   3 suspended   4 payload, choice, script or inputs refused
  5 not found, not open, ambiguous   6 budget   7 store or owner   8 conflict   9 denied
  10 that part of the journal was trimmed   11 fewer mutants noticed than --least
  12 standard output did not take all of the result
  124 --timeout   129 130 143 interrupted`

// help is the page of a command.
func (c *call) help(cmd *cobra.Command) {
	c.print("%s", c.paper().Fit(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))+"\n\n"+strings.TrimRight(cmd.UsageString(), "\n")))
}

// groups order the verbs in the help.
func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: "runs", Title: "Runs:"},
		{ID: "decisions", Title: "Decisions:"},
		{ID: "look", Title: "Looking:"},
		{ID: "scripts", Title: "Scripts:"},
		{ID: "knowledge", Title: "Knowledge:"},
		{ID: "store", Title: "The store:"},
	}
}

// run performs the call and gives the exit code.
func (c *call) run() int {
	root := c.root()
	root.SetArgs(c.args)
	c.json = wantsJSON(c.args) // until the flags are parsed, and if they cannot be
	ctx, release := c.interruptible()
	defer release()
	code := c.conclude(root.ExecuteContext(ctx))
	if c.pager != nil {
		c.pager.Close()
	}
	return code
}

// root is the tree of commands.
func (c *call) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "starling",
		Short:             "Run scripts that orchestrate agents and never lose their place",
		Long:              "Starling runs Starlark scripts that orchestrate agents, and never loses its place.\n\n" + exitCodeTopic,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cmp.Or(c.servedRemotely(cmd), c.enter(cmd)) },
		Args:              unknownVerb,
		RunE:              rootCommand(c.stdout),
	}
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { c.help(cmd) })
	root.AddGroup(groups()...)
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetHelpCommand(helpCommand())
	root.PersistentFlags().StringVarP(&c.dirFlag, "directory", "C", "", "work in `DIR`")
	root.PersistentFlags().StringVar(&c.storeFlag, "store", "", "the store is `DIR`, or a database, postgres://USER@HOST/NAME (STARLING_STORE; default: .starling beside starling.toml)")
	root.PersistentFlags().StringVar(&c.serverFlag, "server", "", "the store is that of the server at `URL`, in the name of the token in STARLING_TOKEN")
	root.PersistentFlags().BoolVarP(&c.quiet, "quiet", "q", false, "say nothing but results, and what went wrong; of a list what names each row, one a line")
	for _, v := range c.called() {
		root.AddCommand(v.command(c))
	}
	if c.further != nil {
		root.AddCommand(workerCommand(c))
	}
	if completing(c.args) {
		completion.Attach(c.offered(), root)
	}
	return root
}

// verb is a word that starling is called with, and what makes its command.
type verb struct {
	name    string
	command func(*call) *cobra.Command
}

// verbs are those that there are, in the order of the help.
func verbs() []verb {
	return []verb{
		{"run", runCommand}, {"resume", resumeCommand}, {"wait", waitCommand}, {"cancel", cancelCommand}, {"signal", signalCommand},
		{"approve", approveCommand}, {"reject", rejectCommand}, {"inbox", inboxCommand}, {"decisions", decisionsCommand},
		{"review", reviewCommand}, {"work", workCommand}, {"claim", claimCommand}, {"heartbeat", heartbeatCommand}, {"submit", submitCommand},
		{"steer", steerCommand}, {"push", pushCommand}, {"queue", queueCommand}, {"ps", psCommand}, {"query", queryCommand}, {"show", showCommand},
		{"logs", logsCommand}, {"steps", stepsCommand}, {"graph", graphCommand}, {"cost", costCommand}, {"trace", func(c *call) *cobra.Command {
			return c.withJSON(trace.Command(trace.Host{Look: c.lookAt, Answer: c.answerJSON, Notice: c.notice, Getenv: c.getenv, In: c.stdin}))
		}}, {"replay", replayCommand},
		{"rerun", rerunCommand}, {"fork", forkCommand}, {"diff", diffCommand}, {"artifacts", artifactsCommand}, {"agents", agentsCommand},
		{"tools", toolsCommand}, {"webhooks", webhooksCommand}, {"config", configCommand}, {"doctor", doctorCommand}, {"init", initCommand}, {"new", newCommand}, {"check", checkCommand}, {"fmt", fmtCommand}, {"lsp", lspCommand}, {"test", testCommand}, {"doc", docCommand},
		{"define", defineCommand}, {"schedule", scheduleCommand}, {"repl", replCommand}, {"export", exportCommand}, {"import", importCommand}, {"remember", rememberCommand},
		{"hook", hookCommand}, {"serve", serveCommand}, {"stop", stopCommand}, {"mcp", mcpCommand}, {"store", storeCommand},
		{"prune", pruneCommand}, {"token", tokenCommand}, {"trust", trustCommand}, {"completion", completionCommand}, {"version", versionCommand},
	}
}

// called is the verb that the call begins with, or else all of them: what is not called need not be
// made.
func (c *call) called() []verb {
	all := verbs()
	if len(c.args) > 0 {
		if i := slices.IndexFunc(all, func(v verb) bool { return v.name == c.args[0] }); i >= 0 {
			return all[i : i+1]
		}
	}
	return all
}

// enter does what precedes every verb: it goes to the directory and finds the store.
func (c *call) enter(cmd *cobra.Command) error {
	if c.dirFlag != "" {
		if err := os.Chdir(c.dirFlag); err != nil {
			return usage("", "cannot work in %s: %v", c.dirFlag, errors.Unwrap(err))
		}
	}
	if c.serverFlag != "" && c.storeFlag != "" {
		return usage("", "--server and --store exclude each other")
	}
	var err error
	c.page(cmd)
	c.place, err = place.Find(cmd.Context(), c.storeSetting(), c.getenv)
	return err
}

// storeSetting is the store that is asked for, by the flag or else by the variable, "" for the
// default.
func (c *call) storeSetting() string {
	if c.storeFlag != "" {
		return c.storeFlag
	}
	if store, ok := c.getenv("STARLING_STORE"); ok {
		return store
	}
	return ""
}

// jsonFlag gives a verb the flag --json, and those that pick from the document.
func (c *call) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON document")
	cmd.Flags().BoolVarP(&c.raw, "raw", "r", false, "print texts without quotes, of --jq or what a run has returned")
	cmd.Flags().Func("jq", "print what a jq `FILTER` picks from the JSON document", func(text string) (err error) {
		c.json = true
		c.filter, err = jq.Parse(text)
		return err
	})
}

// withJSON gives a verb the flags of its document.
func (c *call) withJSON(cmd *cobra.Command) *cobra.Command {
	c.jsonFlag(cmd)
	return cmd
}

// unknownVerb refuses a word that is no verb of cmd.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			verbs = append(verbs, sub.Name())
		}
	}
	help, word := "starling help lists the commands", args[0]
	if cmd.HasParent() {
		help, word = cmd.CommandPath()+" has "+strings.Join(verbs, ", "), cmd.Name()+" "+word
	}
	return usage(cmp.Or(diagnostic.Meant(args[0], verbs), help), "unknown command %q", word)
}

// helpCommand is the verb help.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Help about any command",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // it needs no place
		RunE: func(cmd *cobra.Command, words []string) error {
			about, rest, err := cmd.Root().Find(words)
			if err == nil && about.HasSubCommands() {
				err = unknownVerb(about, rest)
			}
			if err != nil {
				return err
			}
			return about.Help()
		},
	}
}

// showHelp is what a command does that has only verbs.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// rootCommand answers starling without a verb: the help, or the version to out. The flag that cobra
// has for it takes a template, and text/template makes the linker keep every method: 3.5 MB.
func rootCommand(out io.Writer) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("version") {
			return showHelp(cmd, args)
		}
		_, err := fmt.Fprintln(out, build.Line())
		return err
	}
}

// flagError makes a refusal of what pflag says.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	help := "see " + cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		names = append(names, "help")
		for i, name := range names {
			names[i] = "--" + name
		}
		help = cmp.Or(strings.ReplaceAll(diagnostic.Meant("--"+unknown.GetSpecifiedName(), names), `"`, ""), help)
	}
	return usage(help, "%s: %s", cmd.Name(), err)
}

// operands refuses a wrong number of operands, naming those that are wanted as the usage line does.
func operands(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return usage("see "+cmd.CommandPath()+" --help", "%s: got %d operands, want %s", cmd.Name(), len(args), wanted(cmd, least))
	}
}

// wanted is the part of the usage line that names the operands.
func wanted(cmd *cobra.Command, least int) string {
	_, names, _ := strings.Cut(cmd.Use, " ")
	if names == "" || least == 0 && names == "[flags]" {
		return "none"
	}
	return names
}
