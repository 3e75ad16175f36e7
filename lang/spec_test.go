package lang_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
	"starling/stdlib/pdf"
	"starling/stdlib/yamltext"
)

// block is one block of code of spec.md.
type block struct {
	line   int // of its first line
	source string
	native bool // it uses what go.starlark.net does not have
}

func specBlocks(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile("spec.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var open *block
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		switch {
		case open == nil && strings.HasPrefix(line, "```python"):
			open = &block{line: n + 1}
		case open != nil && strings.HasPrefix(line, "```"):
			open.native = strings.Contains(open.source, "attempt(")
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.source += line
		}
	}
	if len(blocks) < 20 {
		t.Fatalf("spec.md has %d blocks of code, which cannot be all", len(blocks))
	}
	return blocks
}

// specEnvironment is what scripts see: the real builtins, and check for `EXPRESSION # -> VALUE`.
func specEnvironment() *effect.Environment {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})
	names := starlark.StringDict{"_expect": starlark.NewBuiltin("_expect", expect)}
	for name, v := range env.Names {
		names[name] = v
	}
	return &effect.Environment{Names: names}
}

// expect is _expect(line, want, got).
func expect(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if got, want := args[2].String(), string(args[1].(starlark.String)); got != want {
		return nil, fmt.Errorf("spec.md:%v: got %s, want %s", args[0], got, want)
	}
	return starlark.None, nil
}

var (
	gives = regexp.MustCompile(`^(.*\S) +# -> (.*)\n$`)
	fails = regexp.MustCompile(`^(.*\S) +# !> (.*)\n$`)
	said  = regexp.MustCompile(`# check: (.*)\n`)
)

func TestSpec(t *testing.T) {
	known := files{}
	for _, b := range specBlocks(t) {
		t.Run(strconv.Itoa(b.line), func(t *testing.T) {
			name := "main.star"
			if first, _, _ := strings.Cut(b.source, "\n"); strings.HasPrefix(first, "# ") && strings.HasSuffix(first, ".star") {
				name = first[2:]
				known[name] = b.source
			}
			b.check(t, name, known)
			b.evaluate(t, known)
		})
	}
}

// check compares what is said of the block with what it says itself.
func (b block) check(t *testing.T, name string, known files) {
	t.Helper()
	f := files{name: gives.ReplaceAllString(b.source, "$1\n")}
	for other, text := range known {
		f[other] = text
	}
	bundle, err := lang.Read(name, f.read, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := lang.Check(bundle, specEnvironment(), check.Project{})
	lines := strings.Split(b.source, "\n")
	list = slices.DeleteFunc(list, func(d diagnostic.Diagnostic) bool { return fails.MatchString(lines[d.Line-1] + "\n") }) // as it is to
	for _, want := range said.FindAllStringSubmatch(b.source, -1) {
		if len(list) == 0 || !strings.Contains(list[0].Error(), want[1]) {
			t.Fatalf("check says\n%v\nand not %q", list, want[1])
		}
		list = list[1:]
	}
	if len(list) > 0 {
		t.Errorf("check says\n%v", list.Render())
	}
}

// evaluate runs the block once for all its values, and once for each of its errors.
func (b block) evaluate(t *testing.T, known files) {
	t.Helper()
	if !strings.Contains(b.source, "# -> ") && !strings.Contains(b.source, "# !> ") {
		return
	}
	if err := b.run(t, known, -1); err != nil {
		t.Error(err)
	}
	n := 0
	for line := range strings.Lines(b.source) {
		if m := fails.FindStringSubmatch(line); m != nil {
			if err := b.run(t, known, n); err == nil || !strings.Contains(err.Error(), m[2]) {
				t.Errorf("spec.md:%d: got %v, want an error that contains %q", b.line+n, err, m[2])
			}
		}
		n++
	}
}

// run executes the block, on the machine and on go.starlark.net, with the line that fails or with
// none that does.
func (b block) run(t *testing.T, known files, failing int) error {
	t.Helper()
	var source strings.Builder
	n := 0
	for line := range strings.Lines(b.source) {
		switch m, f := gives.FindStringSubmatch(line), fails.MatchString(line); {
		case f && n != failing:
			source.WriteString("\n")
		case m != nil:
			fmt.Fprintf(&source, "_expect(%d, %s, %s)\n", b.line+n, strconv.Quote(m[2]), wrap(m[1]))
		default:
			source.WriteString(line)
		}
		n++
	}
	env := specEnvironment()
	if b.native {
		return asPipeline(source.String(), env)
	}
	err := onMachine(source.String(), known, env)
	if ref := onReference(source.String(), known, env); (err == nil) != (ref == nil) {
		t.Errorf("spec.md:%d: the machine says %v, go.starlark.net %v", b.line, err, ref)
	}
	return err
}

// wrap makes one argument of an expression that may be a tuple.
func wrap(expr string) string { return "(" + expr + ")" }

// onMachine runs a source as the top level of a script with main, which is what loading does.
func onMachine(source string, known files, env *effect.Environment) error {
	f := files{"main.star": source + "\ndef main():\n    pass\n"}
	for name, text := range known {
		f[name] = text
	}
	bundle, err := lang.Read("main.star", f.read, nil)
	if err != nil {
		return err
	}
	p, err := lang.Compile(bundle, env)
	if err != nil {
		return err
	}
	_, err = vm.Load(p.Modules, env)
	return err
}

// asPipeline runs a source as a script without main, whose top level may call everything.
func asPipeline(source string, env *effect.Environment) error {
	bundle, err := lang.Read("main.star", files{"main.star": source}.read, nil)
	if err != nil {
		return err
	}
	stop, err := finish(bundle, env)
	if err == nil && stop.Err != nil {
		err = stop.Err
	}
	return err
}

func onReference(source string, known files, env *effect.Environment) error {
	thread := &starlark.Thread{Load: func(_ *starlark.Thread, name string) (starlark.StringDict, error) {
		return starlark.ExecFileOptions(lang.FileOptions(), new(starlark.Thread), name, known[name], env.Names)
	}}
	_, err := starlark.ExecFileOptions(lang.FileOptions(), thread, "main.star", source, env.Names)
	return err
}

// The table of limits is what the code says.
func TestSpecLimits(t *testing.T) {
	limits := map[string]int{
		"lang.MaxSource":     lang.MaxSource,
		"lang.MaxModules":    lang.MaxModules,
		"lang.MaxBundle":     lang.MaxBundle,
		"lang.MaxNesting":    lang.MaxNesting,
		"contract.MaxText":   contract.MaxText,
		"contract.MaxDepth":  contract.MaxDepth,
		"effect.MaxPayload":  effect.MaxPayload,
		"effect.MaxOutput":   effect.MaxOutput,
		"effect.MaxDepth":    effect.MaxDepth,
		"effect.MaxName":     effect.MaxName,
		"vm.DefaultFrames":   vm.DefaultFrames,
		"vm.DefaultBranches": vm.DefaultBranches,
		"vm.DefaultSteps":    vm.DefaultSteps,
		"vm.DefaultMemory":   vm.DefaultMemory,
		"vm.MaxIntBits":      vm.MaxIntBits,

		"stdlib.MaxJSONDepth":  stdlib.MaxJSONDepth,
		"stdlib.MaxJSONDigits": stdlib.MaxJSONDigits,
		"stdlib.MaxYAML":       stdlib.MaxYAML,
		"pdf.MaxText":          pdf.MaxText,
		"yamltext.MaxDepth":    yamltext.MaxDepth,
		"yamltext.MaxDigits":   yamltext.MaxDigits,
		"stdlib.MaxPattern":    stdlib.MaxPattern,
	}
	text, err := os.ReadFile(filepath.FromSlash("spec.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| ([0-9,]+) \\| `([a-zA-Z.]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		stated, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if limit, known := limits[m[2]]; err != nil || !known || limit != stated {
			t.Errorf("spec.md says that %s is %s; it is %d (known: %t)", m[2], m[1], limit, known)
		}
		delete(limits, m[2])
	}
	for name := range limits {
		t.Errorf("spec.md does not state %s", name)
	}
}

// The table of options is what FileOptions says.
func TestSpecDialect(t *testing.T) {
	o := lang.FileOptions()
	text, err := os.ReadFile("spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for row, on := range map[string]bool{
		"`set`":                 o.Set,
		"top-level control":     o.TopLevelControl,
		"global reassignment":   o.GlobalReassign,
		"recursion":             o.Recursion,
		"`while`":               o.While,
		"`load` binds globally": o.LoadBindsGlobally,
	} {
		state := map[bool]string{true: "on", false: "off"}[on]
		if !strings.Contains(string(text), "\n| "+row+" | "+state+" |") {
			t.Errorf("spec.md does not say that %s is %s", row, state)
		}
	}
}
