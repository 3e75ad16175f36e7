package agent

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// maxSteps bounds one call of a scripted agent, and the top level of its file.
const maxSteps = 5_000_000

// maxMemory bounds what one call holds, bytes.
const maxMemory = 256 << 20

// Machines returns a LoadScript that runs scripted agents on the machine that runs scripts, with
// the names predeclared that scripts have, in a file of tests also those of tests, and counting
// what scripts count. Each call has a machine of its own, which is thrown away. An agent that asks
// the world fails; what it prints and logs is dropped.
func Machines(scripts *effect.Environment) LoadScript {
	return func(encoded []byte) (Script, error) {
		bundle, err := lang.Decode(encoded)
		if err != nil {
			return nil, err
		}
		env := &effect.Environment{Names: scripts.Names, Reached: scripts.Reached, Compiled: scripts.Compiled}
		if strings.HasSuffix(bundle.Entry().Name, "_test.star") {
			env.Names = maps.Clone(scripts.Names)
			maps.Copy(env.Names, scripts.OfTests)
		}
		program, err := lang.Compile(bundle, env)
		if err != nil {
			return nil, err
		}
		image, err := vm.Load(program.Modules, env)
		if err != nil {
			return nil, err
		}
		m, err := image.Start(nil)
		if err != nil {
			return nil, err
		}
		if program.Main == nil { // else loading has run the top level, and main is a function like any other
			if _, err := finish(context.Background(), m); err != nil {
				return nil, err
			}
		}
		globals := m.Globals()
		globals.Freeze()
		return machineScript{globals}, nil
	}
}

// machineScript is a file whose top level has run. Its functions are frozen, so that any machine
// may call them.
type machineScript struct{ globals starlark.StringDict }

// Globals returns the globals that are set.
func (s machineScript) Globals() starlark.StringDict { return s.globals }

// callSource is the program of one call. What it calls and with what are its predeclared names.
const callSource = "def main(): return function(request)\n"

// callLine is the line of a backtrace that stands for callSource. It is in no file that anybody
// could look at.
const callLine = "  call:1:28: in main\n"

// Call calls a function of the file on a fresh machine.
func (s machineScript) Call(ctx context.Context, function, request starlark.Value) (starlark.Value, error) {
	env := &effect.Environment{Names: starlark.StringDict{"function": function, "request": request}}
	code, err := compile.Compile(compile.Source{Name: "call", Text: []byte(callSource), Options: *lang.FileOptions(), Predeclared: env.Names.Has})
	if err != nil {
		return nil, err
	}
	image, err := vm.Load([]*compile.Module{code}, env)
	if err != nil {
		return nil, err
	}
	m, err := image.Start(nil)
	if err != nil {
		return nil, err
	}
	return finish(ctx, m)
}

// finish runs a machine to its end, looking up now and then for the end of ctx.
func finish(ctx context.Context, m *vm.Machine) (starlark.Value, error) {
	m.SetLimits(vm.Limits{Steps: maxSteps, Memory: maxMemory, Shared: true})
	for {
		stop := m.Run(unanswered)
		switch {
		case stop.Status == vm.Done:
			return stop.Value, nil
		case stop.Status == vm.Failed:
			return nil, stop.Err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case stop.Status != vm.Yielded:
			return nil, noEffects(asked(stop))
		}
	}
}

// unanswered refuses what is answered within a slice: clocks and randomness.
func unanswered(r *effect.Request) effect.Outcome { return effect.Outcome{Err: noEffects(r.Kind)} }

func noEffects(kind string) *effect.Error {
	return effect.Errorf(effect.KindRefused, "%s cannot be called in a file of scripted agents: what varies comes from the request", kind)
}

// asked is the kind of the request that a machine waits for.
func asked(stop vm.Stop) string {
	for _, e := range stop.Emissions {
		if e.Kind == vm.Requested {
			return e.Request.Kind
		}
	}
	return fmt.Sprintf("what makes it stop (%v)", stop.Status)
}
