package vm_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// wireDir holds what was written down in the past, in a folder for each format that this build
// reads: for NAME.txt, a transcript as those of testdata/machine but without output,
//
//	vN/NAME.bundle     the program
//	vN/NAME.snapshot   the machine at the line "save"
//	vN/NAME.txt        what comes in behind that line, and what came out when it was written
//	vN/fingerprint.txt
//
// What is there is never written again. -rewrite adds what the folder of the present format lacks.
const wireDir = "../../testdata/wire"

func formatDir() string { return filepath.Join(wireDir, fmt.Sprintf("v%d", vm.SnapshotFormat)) }

// wireEnvironment is that of the transcripts, with the builtins of the library whose values a
// snapshot has its own form for.
func wireEnvironment() *effect.Environment {
	names := machineNames()
	names["contract"] = exampleNames()["contract"]
	names["hasfields"] = starlark.NewBuiltin("hasfields", newHasFields)
	return &effect.Environment{Names: names}
}

// TestWire goes on from all that was kept, to the end that it had then, also in a build with
// another code generator: functions and places of rest have the same numbers there, and the same is
// live.
func TestWire(t *testing.T) {
	if *rewrite {
		writeWire(t)
	}
	for _, file := range glob(t, wireDir+"/v*/*.snapshot") {
		stem := strings.TrimSuffix(file, ".snapshot")
		for _, other := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/other=%v", filepath.Base(filepath.Dir(file)), filepath.Base(stem), other), func(t *testing.T) {
				img := wireImage(t, []byte(readText(t, stem+".bundle")), other)
				m, err := img.Restore([]byte(readText(t, file)), snapshotKey)
				if err != nil {
					t.Fatal(err)
				}
				p := &player{t: t, names: wireEnvironment().Names, image: img, m: m}
				if got, want := p.rest(paragraphs(readText(t, stem+".txt"))), readText(t, stem+".txt"); got != want {
					t.Errorf("it goes on\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
	for _, file := range glob(t, wireDir+"/*.txt") {
		if _, err := os.Stat(filepath.Join(formatDir(), strings.TrimSuffix(filepath.Base(file), ".txt")+".snapshot")); err != nil {
			t.Errorf("%v\nnothing was kept of this format: go test ./lang/vm -run Wire -rewrite", err)
		}
	}
}

// wireImage compiles a bundle, by another code generator if asked.
func wireImage(t *testing.T, encoded []byte, other bool) *vm.Image {
	t.Helper()
	return imageIn(t, wireEnvironment(), encoded, other)
}

func imageIn(t *testing.T, env *effect.Environment, encoded []byte, other bool) *vm.Image {
	t.Helper()
	bundle, err := lang.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lang.Compile(bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	modules := program.Modules
	if other {
		modules = recompiled(t, modules, bundle, env)
	}
	img, err := vm.Load(modules, env)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// recompiled are the modules of a program as another code generator makes them.
func recompiled(t *testing.T, modules []*compile.Module, bundle *lang.Bundle, env *effect.Environment) []*compile.Module {
	t.Helper()
	known := func(name string) bool { return env.Names.Has(name) || name == lang.Args }
	var out []*compile.Module
	for i, m := range bundle.Modules() {
		code, err := compile.Compile(compile.Source{Name: m.Name, Text: m.Source, Options: modules[i].Options, Predeclared: known, Breaks: true})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, code)
	}
	return out
}

// rest plays paragraphs and renders them with what comes out.
func (p *player) rest(list []paragraph) string {
	var out strings.Builder
	for _, par := range list {
		out.WriteString(par.prose)
		if par.command != "" {
			fmt.Fprintf(&out, "%s\n%s----\n%s", par.command, par.input, p.play(par))
		}
	}
	return out.String()
}

// writeWire adds what the folder of the present format lacks.
func writeWire(t *testing.T) {
	for _, file := range glob(t, wireDir+"/*.txt") {
		stem := filepath.Join(formatDir(), strings.TrimSuffix(filepath.Base(file), ".txt"))
		if _, err := os.Stat(stem + ".snapshot"); err == nil {
			continue
		}
		p := &player{t: t, names: wireEnvironment().Names}
		list := paragraphs(readText(t, file))
		files := map[string]string{}
		for i, par := range list {
			words := strings.Fields(par.command)
			switch words[0] {
			case "library":
				files[words[1]] = par.input
			case "script":
				files["main.star"] = par.input
				keep(t, stem+".bundle", bundleOf(t, files))
				p.begin(wireImage(t, bundleOf(t, files), false), words[1:])
			case "save":
				b, err := p.m.Snapshot(snapshotKey)
				if err != nil {
					t.Fatal(err)
				}
				keep(t, stem+".snapshot", b)
				keep(t, stem+".txt", []byte(p.rest(list[i+1:])))
			default:
				p.play(par)
			}
			if words[0] == "save" {
				break
			}
		}
	}
}

// begin starts a run of a program.
func (p *player) begin(img *vm.Image, inputs []string) {
	p.t.Helper()
	m, err := img.Start(p.inputs(inputs))
	if err != nil {
		p.t.Fatal(err)
	}
	p.image, p.m = img, m
	p.run()
}

func bundleOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Encode()
}

func keep(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBuildsThatDiffer: what is read by a build with another code generator, and what is refused
// and by whom it is still read.
func TestBuildsThatDiffer(t *testing.T) {
	encoded := []byte(readText(t, formatDir()+"/frames.bundle"))
	ours, other := wireImage(t, encoded, false), wireImage(t, encoded, true)
	m, err := other.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	if stop := m.Run(nobody); stop.Status != vm.Waiting {
		t.Fatalf("it did not wait: %+v", stop)
	}
	if n, err := ours.Restore(snapshotOf(t, m), snapshotKey); err != nil || n.Steps() != m.Steps() {
		t.Errorf("written with other code it is not read: %v", err)
	}
	exact, err := m.ExactSnapshot(snapshotKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Restore(exact, snapshotKey); !errors.Is(err, vm.ErrSnapshotFormat) {
		t.Errorf("a snapshot that names instructions of other code: got %v, want a refusal", err)
	}
	if _, err := other.Restore(exact, snapshotKey); err != nil {
		t.Errorf("the same for the code that it names: %v", err)
	}
}

func TestOtherBehaviourIsRefused(t *testing.T) {
	b := []byte(readText(t, formatDir()+"/frames.snapshot"))
	bundle := []byte(readText(t, formatDir()+"/frames.bundle"))
	env := wireEnvironment()
	env.Behaviour = 7
	_, err := imageIn(t, env, bundle, false).Restore(b, snapshotKey)
	if want := "the snapshot was written with another behaviour of the builtins: 0, this build has 7"; !errors.Is(err, vm.ErrOtherBehaviour) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
