package vm_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output of testdata/machine")

// TestMachine plays the transcripts of testdata/machine: what a machine gives out, what comes in,
// how it goes on. A file is a list of paragraphs: a command, its input up to "----", and the output
// that is expected. Lines that begin with "#" are prose.
//
//	library NAME      the input is a module that later scripts may load
//	script [K=V ...]  starts a machine with the input as its script and runs it
//	example NAME [K=V ...]   starts a machine with a script of the folder scripts and the builtins of the library
//	agents NAME       a script of the folder scripts that later scripts may load
//	session           starts a session
//	chunk             appends the input to the session and runs it
//	settle STEP EXPR  the outcome of a step is a value
//	settle STEP ! KIND MESSAGE   ... or an error
//	event STEP KIND   an event comes in
//	hears STEP        whether somebody listens to the events of the step
//	limits K=V ...    for the machines that follow
//	behaviour N       that of the machines that follow
//	go test ./lang/vm -run TestMachine -rewrite
func TestMachine(t *testing.T) {
	files, err := filepath.Glob("../../testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts found: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) { playFile(t, file, false) })
		if !*rewrite {
			t.Run(name+"/restored", func(t *testing.T) { playFile(t, file, true) })
		}
	}
}

// playFile plays a transcript. With restore, the machine is written down and restored at every stop
// and nothing may differ.
func playFile(t *testing.T, file string, restore bool) {
	text := readText(t, file)
	p := &player{t: t, names: machineNames(), restore: restore}
	var out bytes.Buffer
	for _, par := range paragraphs(text) {
		if par.command == "" {
			out.WriteString(par.prose)
			continue
		}
		got := p.play(par)
		if got != par.want && !*rewrite {
			t.Errorf("%s:%d: %s\n--- got\n%s--- want\n%s", file, par.line, par.command, got, par.want)
		}
		fmt.Fprintf(&out, "%s%s\n%s----\n%s", par.prose, par.command, par.input, got)
	}
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readText(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// paragraph is one step of a transcript; prose are the comments and blank lines before it.
type paragraph struct {
	line                        int
	prose, command, input, want string
}

func paragraphs(text string) []paragraph {
	var list []paragraph
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); {
		var p paragraph
		for i < len(lines) && (strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], "#")) {
			p.prose += lines[i]
			i++
		}
		if i < len(lines) {
			p.line, p.command = i+1, strings.TrimSpace(lines[i])
			i++
		}
		for i < len(lines) && lines[i] != "----\n" {
			p.input += lines[i]
			i++
		}
		i++
		for i < len(lines) && strings.TrimSpace(lines[i]) != "" {
			p.want += lines[i]
			i++
		}
		list = append(list, p)
	}
	return list
}

// player holds what a transcript has set up.
type player struct {
	t         *testing.T
	names     starlark.StringDict
	libraries []*compile.Module
	limits    vm.Limits
	behaviour uint32
	restore   bool
	saver     *saver // stops the machines on the way
	quiet     bool   // does not tell that slices have yielded
	image     *vm.Image
	session   bool
	m         *vm.Machine
	answers   int
}

func (p *player) play(par paragraph) string {
	words := strings.Fields(par.command)
	switch words[0] {
	case "library":
		return p.library(words[1], par.input)
	case "limits":
		p.limits = vm.Limits{}
		for _, w := range words[1:] {
			p.limit(w)
		}
		return ""
	case "behaviour":
		if _, err := fmt.Sscan(words[1], &p.behaviour); err != nil {
			p.t.Fatal(err)
		}
		return ""
	case "script":
		return p.script("test.star", par.input, words[1:])
	case "agents":
		p.names = exampleNames()
		return p.library(words[1], readText(p.t, "../../scripts/"+words[1]))
	case "example":
		p.names = exampleNames()
		return p.script("scripts/"+words[1], readText(p.t, "../../scripts/"+words[1]), words[2:])
	case "session":
		image, err := vm.Load(nil, &effect.Environment{Names: p.names})
		if err != nil {
			return err.Error() + "\n"
		}
		p.m, p.session = image.StartSession(), true
		p.m.SetLimits(p.limits)
		return p.run()
	case "chunk":
		code, err := p.compile("chunk", par.input, p.m.Globals().Has)
		if err == nil {
			err = p.m.Append(append(p.libraries, code))
		}
		if err != nil {
			return err.Error() + "\n"
		}
		return p.run()
	case "settle":
		p.m.Settle(words[1], p.outcome(words[2:]))
		return p.run()
	case "event":
		text := starlark.String(strings.Join(words[3:], " "))
		none := starlark.None
		event := effect.NewRecord(effect.EventType, starlark.String(words[2]), starlark.String(words[1]), none, none, text, none, none)
		p.m.Event(words[1], effect.MustEncode(event))
		return p.run()
	case "hears":
		return fmt.Sprintln(p.m.Hears(words[1]))
	}
	p.t.Fatalf("unknown command %q", par.command)
	return ""
}

func (p *player) library(name, text string) string {
	code, err := p.compile(name, text, nil)
	if err != nil {
		return err.Error() + "\n"
	}
	if i := slices.IndexFunc(p.libraries, func(m *compile.Module) bool { return m.Name == name }); i >= 0 {
		p.libraries[i] = code // it has changed
		return ""
	}
	p.libraries = append(p.libraries, code)
	return ""
}

func (p *player) limit(assignment string) {
	var n int64
	k, v, _ := strings.Cut(assignment, "=")
	if _, err := fmt.Sscan(v, &n); err != nil {
		p.t.Fatal(err)
	}
	switch k {
	case "frames":
		p.limits.Frames = int(n)
	case "branches":
		p.limits.Branches = int(n)
	case "steps":
		p.limits.Steps = n
	case "memory":
		p.limits.Memory = n
	default:
		p.t.Fatalf("unknown limit %s", k)
	}
}

func (p *player) compile(name, text string, globals func(string) bool) (*compile.Module, error) {
	known := func(n string) bool { return p.names.Has(n) || n == "args" }
	return compile.Compile(compile.Source{Name: name, Text: []byte(text), Options: product, Predeclared: known, Globals: globals, Breaks: p.saver != nil})
}

func (p *player) script(name, text string, inputs []string) string {
	p.answers = 0
	code, err := p.compile(name, text, nil)
	if err != nil {
		return err.Error() + "\n"
	}
	image, err := vm.Load(append(p.libraries, code), &effect.Environment{Names: p.names, Behaviour: p.behaviour})
	if err != nil {
		return "not loaded: " + describe(err) + "\n"
	}
	p.image, p.session = image, false
	if p.m, err = image.Start(p.inputs(inputs)); err != nil {
		return err.Error() + "\n"
	}
	p.m.SetLimits(p.limits)
	p.saver.watch(p.m)
	return p.run()
}

// inputs are those that a transcript gives to a script, as K=V.
func (p *player) inputs(words []string) *starlark.Dict {
	dict := new(starlark.Dict)
	for _, in := range words {
		k, v, _ := strings.Cut(in, "=")
		if err := dict.SetKey(starlark.String(k), p.eval(v)); err != nil {
			p.t.Fatal(err)
		}
	}
	return dict
}

func describe(err error) string {
	var e *vm.Error
	if errors.As(err, &e) {
		return e.Backtrace()
	}
	return err.Error()
}

// eval evaluates an expression of a transcript.
func (p *player) eval(text string) starlark.Value {
	v, err := starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "transcript", text, starlark.StringDict{
		"result": maker(effect.ResultType), "decision": maker(effect.DecisionType), "response": maker(effect.ResponseType),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *player) outcome(words []string) effect.Outcome {
	if words[0] == "!" {
		return effect.Outcome{Err: effect.Errorf(effect.Kind(words[1]), "%s", strings.Join(words[2:], " "))}
	}
	return effect.Outcome{Value: effect.MustEncode(p.eval(strings.Join(words, " ")))}
}

// maker makes records of its keyword arguments, for transcripts.
func maker(typ *effect.RecordType) *starlark.Builtin {
	return starlark.NewBuiltin(typ.Name, func(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		r := effect.NewRecord(typ, make([]starlark.Value, len(typ.Fields))...)
		for _, kv := range kwargs {
			r = r.With(string(kv[0].(starlark.String)), kv[1])
		}
		return r, nil
	})
}

// run runs the machine to its stop and renders what it gave out. A slice that yields is continued.
func (p *player) run() string {
	var b strings.Builder
	for yields := 0; ; {
		stop := p.m.Run(p.answer)
		for _, e := range stop.Emissions {
			fmt.Fprintln(&b, renderEmission(e))
		}
		if stop.Status == vm.Yielded {
			yields++
		}
		if p.restore && !p.session && (stop.Status == vm.Yielded || stop.Status == vm.Waiting) {
			p.m = p.restored()
		}
		if stop.Status == vm.Yielded {
			p.m, _ = p.saver.renew(p.t, p.image, p.m, p.limits)
			continue
		}
		if yields > 0 && !p.quiet {
			fmt.Fprintf(&b, "yielded\n")
		}
		b.WriteString(renderStop(&stop))
		return b.String()
	}
}

// restored writes the machine down and restores it; the copy is written down again and must give
// the same bytes.
func (p *player) restored() *vm.Machine {
	key := []byte("key")
	b, err := p.m.Snapshot(key)
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := p.image.Restore(b, key)
	if err != nil {
		p.t.Fatal(err)
	}
	m.SetLimits(p.limits)
	if again, err := m.Snapshot(key); err != nil || !bytes.Equal(b, again) {
		p.t.Fatalf("the restored machine has another snapshot: %v", err)
	}
	return m
}

// answer counts: the n-th answer is n.
func (p *player) answer(*effect.Request) effect.Outcome {
	p.answers++
	return effect.Outcome{Value: effect.MustEncode(starlark.MakeInt(p.answers))}
}

func renderEmission(e vm.Emission) string {
	switch e.Kind {
	case vm.Withdrawn:
		return "withdrawn " + e.Step
	case vm.BranchFailed:
		return fmt.Sprintf("branch %s failed %s: %s", e.Step, e.Outcome.Err.Kind, e.Outcome.Err.Message)
	case vm.Ruled:
		return fmt.Sprintf("ruled %s %v %v", e.Step, e.Verdict.Field("action"), e.Verdict.Field("message"))
	}
	args, err := e.Request.Args.Value()
	if err != nil {
		return err.Error()
	}
	switch e.Kind {
	case vm.Said:
		return shorten(fmt.Sprintf("said %s %v", e.Request.Kind, args))
	case vm.Answered:
		v, _ := e.Outcome.Value.Value()
		return fmt.Sprintf("answered %s %s: %v", e.Request.Kind, e.Step, v)
	}
	line := fmt.Sprintf("requested %s %s %v at %s", e.Request.Kind, e.Step, args, e.Request.Where)
	for _, c := range e.Request.Ceilings {
		line += fmt.Sprintf(" under %+v", c)
	}
	return line
}

func shorten(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s... %d bytes", s[:100], len(s))
	}
	return s
}

func renderStop(s *vm.Stop) string {
	switch {
	case s.Err != nil:
		name := map[vm.Status]string{vm.Failed: "failed", vm.Idle: "idle after"}[s.Status]
		return fmt.Sprintf("%s %s: %s\n%s\n", name, s.Err.Kind, s.Err.Message, indent(s.Err.Backtrace))
	case s.Status == vm.Done:
		return fmt.Sprintf("done %v\n", s.Value)
	case s.Status == vm.Idle:
		return fmt.Sprintf("idle %v\n", s.Value)
	}
	return "waiting\n"
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}

// machineNames is a small environment with one builtin of each class.
func machineNames() starlark.StringDict {
	names := starlark.StringDict{
		"agent":   requestBuiltin("agent", effect.Waiting, "who", "task", "on_event"),
		"gate":    gateBuiltin(),
		"now":     requestBuiltin("now", effect.Answer),
		"print":   requestBuiltin("print", effect.Output, "text"),
		"apply":   starlark.NewBuiltin("apply", apply),
		"proceed": verdict("proceed"),
		"stop":    verdict("stop"),
		"steer":   verdict("steer"),
	}
	for name, v := range vm.Natives() {
		names[name] = v
	}
	return names
}

// exampleNames are the builtins of the library, and question, which makes what an agent is sent.
func exampleNames() starlark.StringDict {
	names := stdlib.Environment(stdlib.Options{Natives: vm.Natives()}).Names
	names["question"] = maker(effect.QuestionType)
	return names
}

// requestBuiltin makes a builtin whose request carries its arguments; the first names the step, if
// it is a string.
func requestBuiltin(name string, class effect.Class, params ...string) *effect.Builtin {
	b := &effect.Builtin{FullName: name, Class: class}
	for _, p := range params {
		b.Params = append(b.Params, effect.Param{Name: p, Default: "None"})
	}
	b.Request = func(c *effect.Call) (*effect.Request, error) {
		r := &effect.Request{Kind: name, Name: name}
		args := new(starlark.Dict)
		for _, p := range params {
			v := c.Get(p)
			if p == "on_event" {
				r.OnEvent, _ = v.(starlark.Callable)
			} else if v != nil {
				_ = args.SetKey(starlark.String(p), v)
			}
		}
		if class == effect.Waiting {
			r.Name = c.Text(params[0], name)
		}
		var err error
		r.Args, err = effect.Encode(args)
		return r, err
	}
	return b
}

// gateBuiltin is gate(name, wait = True).
func gateBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "gate",
		Class:    effect.Waiting,
		Params:   []effect.Param{{Name: "name", Type: "string"}, {Name: "wait", Type: "bool", Default: "True"}},
		Request: func(c *effect.Call) (*effect.Request, error) {
			r := &effect.Request{Kind: "gate", Name: c.Text("name", "")}
			if !c.Flag("wait", true) {
				r.Class = effect.Open
			}
			return r, effect.CheckName(r.Name)
		},
	}
}

func verdict(action string) *effect.Builtin {
	return &effect.Builtin{
		FullName: action,
		Params:   []effect.Param{{Name: "message", Default: `""`}},
		Pure: func(c *effect.Call) (starlark.Value, error) {
			return effect.NewRecord(effect.VerdictType, starlark.String(action), starlark.String(c.Text("message", ""))), nil
		},
	}
}

// apply calls a function from Go: nothing below it can wait.
func apply(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return starlark.Call(thread, args[0], args[1:], nil)
}
