package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"starling/lang/diagnostic"
	"starling/runtime"
)

const help = `Type Starlark: a statement runs when its line ends, a block when a blank line ends it. Agents, gates and all other
effects work here as in scripts; a gate is answered at its own prompt, an empty line leaves it in the inbox.

Tab completes. NAME? says what a name means, NAME?? shows its source. _ is the last value, _3 that of statement 3,
Out has all. !LINE is for the shell. Ctrl-C drops a line, or ends a statement that runs; Ctrl-D leaves.

`

// A command is what a line that begins with a colon asks for.
type command struct {
	name string
	args string // as help shows them
	what string
	do   func(l *Loop, ctx context.Context, arg string) error
}

func commands() []command {
	return []command{
		{":help", "", "this text", (*Loop).help},
		{":history", "[N]", "the statements of this session, or only N of them, with their numbers", (*Loop).showHistory},
		{":edit", "[N]", "edit statement N, or the last one, in $EDITOR, and run it", (*Loop).edit},
		{":vars", "[NAME…]", "the variables of this session", (*Loop).vars},
		{":type", "EXPRESSION", "what type it has; nothing is performed", (*Loop).typeOf},
		{":time", "STATEMENT", "run it and tell how long it took", (*Loop).timeIt},
		{":cost", "", "what the agents of this session have cost", (*Loop).cost},
		{":reload", "", "load again what was loaded, from the files as they are now", (*Loop).reload},
		{":fake", "FILE", "from now on agents are the functions of this script", (*Loop).fake},
		{":test", "[FILE…]", "run the tests of scripts", (*Loop).test},
		{":save", "FILE", "write a script with main that does what the session did", (*Loop).save},
		{":answer", "[GATE]", "answer an open gate of this session", (*Loop).answerAgain},
		{":interrupt", "", "end the statement that waits", (*Loop).interruptNow},
		{":rewind", "N", "go back to where statement N had ended", (*Loop).rewind},
		{":fork", "[N]", "go on in a copy of this session, or in one that ends with statement N", (*Loop).fork},
		{":attach", "RUN[@STEP|@BRANCH]", "look into a moment of any run; statements perform nothing there", (*Loop).attach},
		{":detach", "", "come back from there", (*Loop).detach},
		{":id", "", "the id of this session; starling repl --resume ID goes on with it", (*Loop).id},
		{":quit", "", "leave; Ctrl-D does the same", func(*Loop, context.Context, string) error { return io.EOF }},
	}
}

// command does what a line that begins with a colon or an exclamation mark says, or one that asks
// what a name means.
func (l *Loop) command(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if name, more, asks := asked(line); asks {
		return l.told(l.explain(ctx, name, more))
	}
	if shell, ok := strings.CutPrefix(line, "!"); ok {
		return l.shell(ctx, shell)
	}
	word, arg, _ := strings.Cut(line, " ")
	for _, c := range commands() {
		if c.name == word {
			if arg = strings.TrimSpace(arg); arg != "" && c.args == "" {
				return l.usage(word+" takes no arguments", "")
			}
			return l.told(c.do(l, ctx, arg))
		}
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return l.usage("unknown command "+word, cmp.Or(commandFor(word[1:]), diagnostic.Meant(word, names), ":help lists the commands"))
}

// usage tells that a command cannot be meant so.
func (l *Loop) usage(what, hint string) error {
	fmt.Fprintln(l.Err, what)
	if hint != "" {
		fmt.Fprintln(l.Err, "  = help: "+hint)
	}
	l.Wrong(string(runtime.ErrUsage))
	return nil
}

func (l *Loop) help(context.Context, string) error {
	fmt.Fprint(l.Err, help)
	w := tabwriter.NewWriter(l.Err, 0, 8, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.what)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// commandFor is the hint for a word by which other prompts are left or asked, "" for any other
// word.
func commandFor(word string) string {
	switch word {
	case "quit", "exit":
		return ":quit leaves the session"
	case "help":
		return "agent? says what agent means, and so with any name; :help lists the commands"
	case "history":
		return ":history shows the statements of the session"
	}
	return ""
}

// withCommand has a name that is not defined hint at the command that was meant, if it begins what
// was typed.
func withCommand(list diagnostic.List) diagnostic.List {
	for i, d := range list {
		name, undefined := strings.CutPrefix(d.Message, "undefined: ")
		if undefined && d.Line == 1 && d.Col == 1 {
			list[i].Hint = cmp.Or(commandFor(name), d.Hint)
		}
	}
	return list
}

// showHistory lists statements. Those that have failed are marked.
func (l *Loop) showHistory(_ context.Context, arg string) error {
	from := 0
	if arg != "" {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return l.usage(fmt.Sprintf("got %q, want how many statements", arg), "")
		}
		from = max(0, len(l.history)-n)
	}
	width := len(strconv.Itoa(len(l.history)))
	for i, s := range l.history[from:] {
		mark := " "
		if l.failed[from+i+1] {
			mark = "!"
		}
		pad := strings.Repeat(" ", width+3)
		fmt.Fprintf(l.Out, "%*d%s  %s\n", width, from+i+1, mark, strings.ReplaceAll(s, "\n", "\n"+pad))
	}
	return nil
}

func (l *Loop) id(context.Context, string) error {
	fmt.Fprintln(l.Out, l.Run)
	return nil
}

// number reads the number of a statement, the last one where none is given.
func (l *Loop) number(arg string) (int, error) {
	if arg == "" {
		return len(l.history), nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 || n > len(l.history) {
		return 0, runtime.Refusef(runtime.ErrUsage, "got %q, want the number of a statement up to %d", arg, len(l.history)).WithHelp(":history lists them")
	}
	return n, nil
}

// edit has a statement edited and executes what it is then.
func (l *Loop) edit(ctx context.Context, arg string) error {
	n, err := l.number(arg)
	if err != nil {
		return err
	}
	text := ""
	if n > 0 {
		text = l.history[n-1] + "\n"
	}
	if text, err = l.Desk.edit(ctx, text); err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	fmt.Fprintln(l.Err, text)
	return l.execute(ctx, text)
}

// timeIt has a statement executed and tells how long it took.
func (l *Loop) timeIt(ctx context.Context, arg string) error {
	if arg == "" {
		return l.usage(":time wants a statement", "")
	}
	n := len(l.history)
	err := l.execute(ctx, arg)
	l.timed = len(l.history) > n // finish tells it
	return err
}

func (l *Loop) cost(ctx context.Context, _ string) error {
	return l.Desk.verb(ctx, "cost", l.Run)
}

func (l *Loop) test(ctx context.Context, arg string) error {
	return l.Desk.verb(ctx, append([]string{"test"}, strings.Fields(arg)...)...)
}

// fake pins settings in which agents are those of a script.
func (l *Loop) fake(ctx context.Context, file string) error {
	if file == "" {
		return l.usage(":fake wants a script", "its functions play the agents of their names: def reviewer(req): return …")
	}
	settings, err := l.Desk.Settings(file)
	if err != nil {
		return err
	}
	if _, err := l.Engine.Resume(ctx, runtime.ResumeRequest{Runs: []string{l.Run}, Env: l.Env, Settings: settings}); err != nil {
		return err
	}
	l.Desk.Fake = file
	l.say("agents are those of %s", file)
	return nil
}

// reload executes the statements again that have loaded something.
func (l *Loop) reload(ctx context.Context, _ string) error {
	var loads []string
	for i, s := range l.history {
		for _, load := range loadsOf(s) {
			if !l.failed[i+1] {
				loads = append(slices.DeleteFunc(loads, func(other string) bool { return other == load }), load)
			}
		}
	}
	if len(loads) == 0 {
		return l.usage("nothing was loaded", `load("lib.star", "name") does`)
	}
	text := strings.Join(loads, "\n")
	fmt.Fprintln(l.Err, text)
	return l.execute(ctx, text)
}

// shell has a shell do a line. What it does is no part of the session.
func (l *Loop) shell(ctx context.Context, line string) error {
	if strings.TrimSpace(line) == "" {
		return l.usage("! wants a command of the shell", "")
	}
	err := l.Desk.shell(ctx, line)
	if err != nil {
		l.say("%v", err)
	}
	return nil
}

// save writes the session as a script.
func (l *Loop) save(_ context.Context, file string) error {
	if file == "" {
		return l.usage(":save wants a file", "such as :save work.star")
	}
	var good []string
	var numbers []int
	for i, s := range l.history {
		if !l.failed[i+1] && !(l.open && i+1 == len(l.history)) {
			good, numbers = append(good, s), append(numbers, i+1)
		}
	}
	text, err := (&scribe{env: l.Names, values: l.values}).script(good, numbers)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return l.usage(file+" is there already", "give another name, or remove it: !rm "+file)
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "%v", err)
	}
	l.say("%s: %d statements; starling run %s does them", file, len(good), file)
	return nil
}
