package cli

import (
	"os"
	"path/filepath"
	"slices"

	"starling/cmd/starling/checked"
	"starling/cmd/starling/place"
	"starling/cmd/starling/suite"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/agent"
	"starling/stdlib/git"
	"starling/stdlib/project"
)

// settings are what a run is pinned to: the project file and the script of fake agents as they are
// now. Either is "" for none; without a fake the project's own counts. Mistakes in them are found
// here, before anything exists.
func (c *call) settings(file, fake string) (*effect.Settings, error) {
	s := &effect.Settings{Workspace: c.place.Root, Head: git.Head(c.place.Root), FakeGiven: fake != ""}
	if file != "" {
		p, err := readProject(file, s)
		if err != nil {
			return nil, err
		}
		if fake == "" && p.Fake != "" {
			fake = filepath.Join(filepath.Dir(file), filepath.FromSlash(p.Fake))
		}
	}
	if fake == "" {
		return s, nil
	}
	bundle, err := c.readFake(fake)
	if err != nil {
		return nil, err
	}
	s.FakeFile, s.Fake = fake, bundle.Encode()
	return s, nil
}

// homeSettings are those under which scripts of others run: of the project that the store stands
// in, wherever its owner was started.
func (c *call) homeSettings(store string) (*effect.Settings, error) {
	home, found := place.FindProject(filepath.Dir(store))
	if !found {
		return &effect.Settings{Workspace: filepath.Dir(store), Head: git.Head(filepath.Dir(store))}, nil
	}
	s, err := c.settings(filepath.Join(home, place.ProjectFile), "")
	if err == nil {
		s.Workspace, s.Head = home, git.Head(home)
	}
	return s, err
}

// homeProject is the project that a store stands in, for what it says of the store's owner. Of a
// file that cannot be read it is empty, with the error: its owner works all the same, unless it
// cannot tell who calls.
func (c *call) homeProject(store string) (*project.File, error) {
	s, err := c.homeSettings(store)
	if err != nil || len(s.Project) == 0 {
		return &project.File{}, err
	}
	p, err := project.Parse(place.ProjectFile, s.Project)
	if err != nil {
		return &project.File{}, err
	}
	return p, nil
}

// readProject reads and checks a project file into the settings.
func readProject(file string, s *effect.Settings) (*project.File, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("", "cannot read the project file %s: %v", file, runtime.Reason(err))
	}
	p, err := project.Parse(place.ProjectFile, text)
	if err != nil {
		return nil, err
	}
	s.ProjectFile, s.Project, s.Env, s.Optional = path, text, p.Variables(), p.Optional()
	s.Notify, s.Budgets = p.Notices(), p.Ceilings()
	s.MaxSteps, s.MaxMemory = p.Machine.Steps, p.Machine.Memory
	return p, nil
}

// readFake reads the script of fake agents with all that it loads, and compiles it for its
// mistakes.
func (c *call) readFake(fake string) (*lang.Bundle, error) {
	bundle, err := c.readBundle(fake)
	if err != nil {
		return nil, err
	}
	_, err = lang.Compile(bundle, c.environmentOf(fake))
	return bundle, err
}

// startRequest reads, checks and binds a script. Nothing has been asked of the engine yet.
func (c *call) startRequest(script string, v *runVerb) (runtime.StartRequest, error) {
	bundle, err := c.readBundle(script)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	return c.requestOf(bundle, bundle.Entry().Name, v)
}

// requestOf checks and binds a script that people know by a name.
func (c *call) requestOf(bundle *lang.Bundle, name string, v *runVerb) (runtime.StartRequest, error) {
	settings, err := c.settings(c.place.Project, v.fake)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	if v.record {
		settings.Cassettes = effect.CassettesRecord
	}
	known, err := agent.Known(agent.Machines(c.env()), settings)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	program, err := c.compile(bundle, known)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	if err := v.ask(program); err != nil {
		return runtime.StartRequest{}, err
	}
	inputs, err := bindInputs(program, v.inputs)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	r := runtime.StartRequest{Key: requestKey(v.key), Bundle: bundle.Encode(), Script: name, Inputs: inputs, Settings: *settings,
		Env: c.values(settings.Env)}
	return r, v.bound(&r)
}

// compile refuses what check finds and passes its warnings on, but for those of names that the
// project does not have: the run says so where it needs them. A program of which there was nothing
// to say is not checked again.
func (c *call) compile(bundle *lang.Bundle, known check.Project) (*lang.Program, error) {
	program := checked.Of(checked.Folder(), "run", bundle, known)
	if program.Clean() {
		return lang.Compile(bundle, c.env())
	}
	list := lang.Check(bundle, c.env(), known)
	if err := list.Err(); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(d diagnostic.Diagnostic) bool { return d.Kind == "unknown_agent" || d.Kind == "unknown_tool" })
	for _, d := range list {
		c.notice("%s", check.Render(d))
	}
	if len(list) == 0 {
		program.Keep()
	}
	return lang.Compile(bundle, c.env())
}

// accept refuses what check finds in a file of tests, whose warnings are for check alone. One that
// was accepted is not checked again.
func (c *call) accept(tests *lang.Bundle) error {
	program := checked.Of(checked.Folder(), "test", tests, check.Project{})
	if program.Clean() {
		return nil
	}
	err := lang.Check(tests, c.environmentOf(suite.Suffix), check.Project{}).Err()
	if err == nil {
		program.Keep()
	}
	return err
}
