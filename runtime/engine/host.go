package engine

import (
	"fmt"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/run"
)

// programs has the programs, and the settings, that runs were last loaded with: most runs share both with many.
type programs struct {
	env      *effect.Environment
	made     recent[*run.Program]     // by the hash of the bundle
	settings recent[*effect.Settings] // by that of their content
	origins  recent[run.Origin]       // by their names in heads
}

// of finds a bundle compiled, or reads and compiles it.
func (p *programs) of(hash string, read func() ([]byte, error)) (*run.Program, error) {
	return p.made.of(hash, func() (*run.Program, error) { return p.make(read) })
}

// at is of for a run that began under an earlier behaviour, whose machine is what it was then.
func (p *programs) at(behaviour uint32, hash string, read func() ([]byte, error)) (*run.Program, error) {
	if behaviour == p.env.Behaviour {
		return p.of(hash, read)
	}
	then := programs{env: p.env.At(behaviour)}
	return p.made.of(fmt.Sprintf("%s at %d", hash, behaviour), func() (*run.Program, error) { return then.make(read) })
}

func (p *programs) make(read func() ([]byte, error)) (*run.Program, error) {
	encoded, err := read()
	if err != nil {
		return nil, err
	}
	bundle, err := lang.Decode(encoded)
	if err != nil {
		return nil, err
	}
	return p.compile(bundle)
}

func (p *programs) compile(bundle *lang.Bundle) (*run.Program, error) {
	code, err := lang.Compile(bundle, p.env)
	if err != nil {
		return nil, err
	}
	image, err := vm.Load(code.Modules, p.env)
	if err != nil {
		return nil, err
	}
	return &run.Program{Env: p.env, Bundle: bundle, Code: code, Image: image}, nil
}

// host finds what a run, as its state has it, needs of its program and its settings.
func (p *programs) host(r *reader, s *run.State) (*run.Host, error) {
	if !p.env.Keeps(s.Behaviour) {
		return nil, runtime.Refusef(runtime.ErrKindNewer, "run %s was started with behaviour %d of the builtins; this build has %d", s.ID, s.Behaviour, p.env.Behaviour).
			WithHelp("go on with the build that started it, or end it with: starling cancel %s", s.ID).WithCall("cancel ends it; the build that started it goes on with it")
	}
	made, err := p.at(s.Behaviour, s.Bundle, func() ([]byte, error) { return r.needed(s.Bundle) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its program: %w", s.ID, err)
	}
	settings, err := p.settings.of(s.Settings, func() (*effect.Settings, error) { return r.settings(s.Settings) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", s.ID, err)
	}
	return &run.Host{Run: s.ID, Program: made, Settings: settings}, nil
}
