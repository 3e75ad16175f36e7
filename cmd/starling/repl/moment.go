package repl

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"starling/lang"
	"starling/runtime"
)

// What needs values looks into the run: at the newest moment of the session, or at the one that was
// attached to. There, statements are executed over the variables of the moment each time anew, with
// those before them, and perform nothing.

// attachment is a moment that is looked into.
type attachment struct {
	run, at string
	branch  bool     // at is the path of a branch
	chunks  [][]byte // statements that went well
	texts   []string
	files   []*lang.Module
	session bool
}

// lookSteps bounds the work of what the loop itself asks, such as for a completion.
const lookSteps = 2_000_000

// look asks for the variables where the loop is, and for what a text comes to there.
func (l *Loop) look(ctx context.Context, text string, steps int64) (*runtime.Sight, error) {
	moments, err := runtime.Extension[runtime.Moments](l.Engine)
	if err != nil {
		return nil, err
	}
	r := runtime.LookRequest{Run: l.Run, Steps: steps}
	if l.at != nil {
		r.Run, r.At, r.Chunks = l.at.run, l.at.at, l.at.chunks
	}
	if text != "" {
		bundle, err := l.Bundle("<look>", text)
		if err != nil {
			return nil, err
		}
		r.Chunks = append(r.Chunks[:len(r.Chunks):len(r.Chunks)], bundle)
	}
	return moments.Look(ctx, r)
}

// peek executes a statement where the loop is attached.
func (l *Loop) peek(ctx context.Context, source string) error {
	at := l.at
	name := len(at.chunks) + 1
	bundle, err := l.bundle(name, source)
	if bundle == nil {
		return err
	}
	moments, err := runtime.Extension[runtime.Moments](l.Engine)
	if err != nil {
		return err
	}
	s, err := moments.Look(ctx, runtime.LookRequest{Run: at.run, At: at.at, Chunks: append(at.chunks[:len(at.chunks):len(at.chunks)], bundle)})
	if err != nil {
		return l.told(err)
	}
	files := append(at.files[:len(at.files):len(at.files)], filesOf(bundle)...)
	for _, line := range s.Printed {
		fmt.Fprintln(l.Err, line)
	}
	if s.Error != nil {
		l.wrong(s.Error, files)
		return nil
	}
	at.chunks, at.texts, at.files = append(at.chunks, bundle), append(at.texts, source), files
	if s.Value != nil {
		fmt.Fprintln(l.Out, l.folded(s.Value.Text, fmt.Sprintf("print(_%d)", name)))
	}
	return nil
}

func filesOf(bundle []byte) []*lang.Module {
	b, err := lang.Decode(bundle)
	if err != nil {
		return nil
	}
	return b.Files()
}

// vars lists the variables, or some of them. What the session keeps by number is left out.
func (l *Loop) vars(ctx context.Context, arg string) error {
	s, err := l.look(ctx, "", lookSteps)
	if err != nil {
		return err
	}
	wanted, found := strings.Fields(arg), false
	w := tabwriter.NewWriter(l.Out, 0, 8, 2, ' ', 0)
	for _, v := range s.Variables {
		if len(wanted) == 0 && isKept(v.Name) || len(wanted) > 0 && !slices.Contains(wanted, v.Name) {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Name, v.Type, l.short(v))
		found = true
	}
	if !found {
		l.say("no variables")
	}
	return w.Flush()
}

// short is the value of a variable in what is left of a line.
func (l *Loop) short(v runtime.Variable) string {
	text := v.Text
	if v.Type == "function" && v.Where != "" {
		text = "(" + v.Params + ")"
	}
	most := 60
	if l.Width != nil {
		most = max(20, l.Width()-40)
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// isKept tells the names under which a session keeps values by itself.
func isKept(name string) bool { return kept().MatchString(name) }

func kept() *regexp.Regexp { return regexp.MustCompile(`^(_[0-9]*|Out)$`) }

// typeOf tells the type of an expression. Nothing is performed for it.
func (l *Loop) typeOf(ctx context.Context, arg string) error {
	if arg == "" {
		return l.usage(":type wants an expression", "")
	}
	s, err := l.look(ctx, arg, 0)
	switch {
	case err != nil:
		return err
	case s.Error != nil:
		l.wrong(s.Error, nil)
	case s.Value == nil:
		fmt.Fprintln(l.Out, "NoneType")
	default:
		fmt.Fprintln(l.Out, s.Value.Type)
	}
	return nil
}

// attach looks into a moment of a run from now on.
func (l *Loop) attach(ctx context.Context, arg string) error {
	if arg == "" {
		return l.usage(":attach wants RUN, RUN@STEP or RUN@BRANCH", "!starling ps lists runs, !starling steps RUN their steps; of a session a statement is a step: RUN@<3>")
	}
	run, at, _ := strings.Cut(arg, "@")
	if run == "" { // @last
		run, at, _ = strings.Cut(arg[1:], "@")
		run = "@" + run
	}
	r, err := l.Engine.Get(ctx, run)
	if err != nil {
		return err
	}
	was := l.at
	l.at = &attachment{run: r.ID, at: at, session: r.Details.Session}
	s, err := l.look(ctx, "", lookSteps)
	if err != nil {
		l.at = was
		return err
	}
	l.at.at, l.at.branch = s.At+s.Branch, s.Branch != ""
	where := "where it stands"
	if s.At != "" {
		where = "before " + s.At
	} else if s.Branch != "" {
		where = "in the branch " + s.Branch
	}
	l.say("%s %s, %s: %s", r.ID, r.Script, where, named(s.Variables))
	l.say("nothing is performed here; :fork goes on from here, :detach comes back")
	return nil
}

// named lists the variables that are no functions.
func named(list []runtime.Variable) string {
	var names []string
	for _, v := range list {
		if v.Type != "function" && !isKept(v.Name) {
			names = append(names, v.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "no variables")
}

func (l *Loop) detach(context.Context, string) error {
	if l.at == nil {
		return l.usage("nothing is attached", ":attach RUN@STEP looks into a run")
	}
	l.at = nil
	l.say("back in session %s", l.Run)
	return nil
}

// fork goes on in a copy of the session, or of what is attached to.
func (l *Loop) fork(ctx context.Context, arg string) error {
	if at := l.at; at != nil {
		return l.forkMoment(ctx, at)
	}
	n, err := l.number(arg)
	if err != nil {
		return err
	}
	was := l.Run
	if err := l.goOnFrom(ctx, l.Run, n); err != nil {
		return err
	}
	l.say("session %s, a fork of %s with its %d statements", l.Run, was, n)
	return nil
}

// forkMoment goes on live from the moment that is attached to: in a session of its own where that
// is of one, with what was typed there; else as a run that somebody else looks at.
func (l *Loop) forkMoment(ctx context.Context, at *attachment) error {
	if at.branch {
		return l.usage("a branch is only looked at", "a fork goes on from a step: :attach "+at.run+"@STEP")
	}
	if at.at == "" && !at.session {
		return l.usage(at.run+" goes on itself from where it stands", "attach to one of its steps: :attach "+at.run+"@STEP")
	}
	step := at.at
	if step == "" {
		n, err := l.statements(ctx, at.run)
		if err != nil {
			return err
		}
		step = fmt.Sprintf("<%d>", n+1)
	}
	run, err := l.forked(ctx, at.run, step)
	if err != nil {
		return err
	}
	l.at = nil
	if !run.Details.Session {
		l.say("run %s, a fork of %s@%s, goes on from there; :attach %s looks at it", run.ID, at.run, step, run.ID)
		return nil
	}
	l.Run = run.ID
	if err := l.recall(ctx); err != nil {
		return err
	}
	l.say("session %s, a fork of %s@%s", run.ID, at.run, step)
	return l.again(ctx, at.texts)
}

// again executes statements one after the other.
func (l *Loop) again(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if err := l.begin(ctx, text); err != nil {
			return err
		}
		if err := l.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// statements counts those of a session.
func (l *Loop) statements(ctx context.Context, run string) (n int, err error) {
	err = l.Engine.Watch(ctx, runtime.WatchRequest{Run: run, Types: []string{chunkAppended}}, func(runtime.Event) error {
		n++
		return nil
	})
	return n, err
}

// rewind goes back to where a statement had ended: in a session that has what was up to there, for
// which this one is given up. What it has done in the world stays done.
func (l *Loop) rewind(ctx context.Context, arg string) error {
	switch {
	case l.at != nil:
		return l.usage("a moment cannot be rewound", ":detach comes back to the session")
	case arg == "":
		return l.usage(":rewind wants the number of the last statement that stays", ":history lists them; 0 begins anew")
	}
	n, err := l.number(arg)
	if err != nil {
		return err
	}
	was := l.Run
	if err := l.goOnFrom(ctx, was, n); err != nil {
		return err
	}
	if _, err := l.Engine.Cancel(ctx, runtime.CancelRequest{Key: l.Key(), Run: was, Reason: Rewound + l.Run}); err != nil {
		return err
	}
	l.say("back at the end of statement %d, in session %s; %s is kept as it was", n, l.Run, was)
	return nil
}

// Rewound begins the reason for which a session was given up that goes on in another, whose id
// follows.
const Rewound = "rewound; goes on in "

// goOnFrom goes on in a copy of a session that has its first n statements.
func (l *Loop) goOnFrom(ctx context.Context, run string, n int) error {
	fork, err := l.forked(ctx, run, fmt.Sprintf("<%d>", n+1))
	if err != nil {
		return err
	}
	l.Run = fork.ID
	return l.recall(ctx)
}

// forked makes a run of what another did before a step.
func (l *Loop) forked(ctx context.Context, run, step string) (*runtime.Run, error) {
	reruns, err := runtime.Extension[runtime.Reruns](l.Engine)
	if err != nil {
		return nil, err
	}
	return reruns.Fork(ctx, runtime.ForkRequest{Key: l.Key(), Kind: runtime.LineageFork, Run: run, Step: step, Env: l.Env, AcceptDrift: true})
}

// prompt is what stands before a statement: of a session the number that its value is kept under,
// of a moment what it is one of.
func (l *Loop) prompt() string {
	switch {
	case l.at != nil:
		return strings.TrimSuffix(l.at.run+"@"+l.at.at, "@") + " " + firstPrompt
	case l.open:
		return fmt.Sprintf("%d waits %s", len(l.history), firstPrompt)
	case l.Width != nil:
		return fmt.Sprintf("%d %s", len(l.history)+1, firstPrompt)
	}
	return firstPrompt
}
