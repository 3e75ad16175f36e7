package lang

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/check"
	"starling/lang/compile"
	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/infer"
)

// Every module goes through the same stages: parse, link its loads, resolve and compile, each of
// which ends it with diagnostics while the others go on. What a script says of itself, main and
// inputs, is read from the tree of the entry alone and needs no code, so that it is checked even
// where the compiler has found something.

// Args is the predeclared name under which a script without main finds its inputs.
const Args = "args"

// Program is a script compiled, with all that it loads. It is immutable and shared by goroutines
// and runs.
type Program struct {
	Hash    [32]byte           // see [Bundle.Hash]
	Modules []*compile.Module  // in the order in which they are to run: each after all that it loads, the entry last
	Main    *Main              // nil for a script without main: its top level is the pipeline
	Inputs  *contract.Contract // what `inputs = contract(…)` says; nil without that statement
	Bundle  *Bundle            // what it was compiled from
}

// Compile compiles a bundle for an environment, of which only the names matter. Errors are a
// diagnostic.List with everything that was found in all files, each file's in the order of its
// text.
func Compile(b *Bundle, env *effect.Environment) (*Program, error) {
	kept := keptFor(env)
	if kept != nil {
		if p, ok := kept.load("", b.Hash()); ok {
			return p.(*Program), nil
		}
	}
	units, list := compileUnits(b, env, nil, kept)
	p := program(b, units)
	list = append(list, p.head(units[len(units)-1])...)
	if err := list.Err(); err != nil {
		return nil, err
	}
	if kept != nil {
		kept.store("", p.Hash, p)
	}
	return p, nil
}

// CompileChunk compiles the entry of a bundle as a chunk of a REPL session: it may use and reassign
// the globals of earlier chunks, for which globals, not nil, answers, and in its functions those of
// later ones; what it loads becomes one of them; and neither main nor inputs mean anything in it.
// Errors are as for [Compile].
func CompileChunk(b *Bundle, globals func(name string) bool, env *effect.Environment) (*Program, error) {
	units, list := compileUnits(b, env, globals, nil)
	if err := list.Err(); err != nil {
		return nil, err
	}
	return program(b, units), nil
}

// Check says all that can be said of a script without running it: what [Compile] would refuse, and
// what starling/lang/check finds. Dependencies come first, each file in the order of its text.
// Warnings about a file that does not compile are left out, as they may come of the same mistake.
// project is what is known of the agents and tools that the script names.
func Check(b *Bundle, env *effect.Environment, project check.Project) diagnostic.List {
	units, list := compileUnits(b, env, nil, nil)
	files := filesOf(b, units, newChildren(env, project))
	return checked(b, units, list, check.Files(files, env, project))
}

// CheckUntyped is [Check] without what follows from the types of expressions, whose inference takes
// most of its time.
func CheckUntyped(b *Bundle, env *effect.Environment, project check.Project) diagnostic.List {
	units, list := compileUnits(b, env, nil, nil)
	return checked(b, units, list, check.Inferred(filesOf(b, units, newChildren(env, project)), &infer.Result{}, env, project))
}

// Study is what is known of a script that stands open in an editor.
type Study struct {
	Diagnostics diagnostic.List // see [Check]
	Files       []*check.File   // those that could be parsed and resolved, each after all that it loads
	Types       *infer.Result   // of their expressions; of none where a file does not compile
}

// Examine is [Check] that also keeps what it has found out on the way.
func Examine(b *Bundle, env *effect.Environment, project check.Project) *Study {
	units, list := compileUnits(b, env, nil, nil)
	s := &Study{Files: filesOf(b, units, newChildren(env, project))}
	s.Types = infer.Inspect(s.Files, env)
	s.Diagnostics = checked(b, units, list, check.Inferred(s.Files, s.Types, env, project))
	return s
}

// checked adds what is said of main and of the inputs, and puts all in order.
func checked(b *Bundle, units []*unit, list, found diagnostic.List) diagnostic.List {
	p := program(b, units)
	list = append(list, p.head(units[len(units)-1])...)
	return merge(units, list, found)
}

// Types is the text of a script with what is inferred of its names behind its lines. Errors are as
// for [Compile].
func Types(b *Bundle, env *effect.Environment, project check.Project) (string, error) {
	units, list := compileUnits(b, env, nil, nil)
	if err := list.Err(); err != nil {
		return "", err
	}
	files := filesOf(b, units, newChildren(env, project))
	return infer.Files(files, env).Annotated(files[len(files)-1]), nil
}

// Signatures are those of the functions that a script's top level defines, by name, with the types
// that are inferred. Errors are as for [Compile].
func Signatures(b *Bundle, env *effect.Environment, project check.Project) (map[string]string, error) {
	units, list := compileUnits(b, env, nil, nil)
	if err := list.Err(); err != nil {
		return nil, err
	}
	files := filesOf(b, units, newChildren(env, project))
	return infer.Files(files, env).Signatures(files[len(files)-1]), nil
}

// filesOf are the modules that could be parsed and resolved, as check wants them.
func filesOf(b *Bundle, units []*unit, c *children) []*check.File {
	entry := units[len(units)-1]
	files := make([]*check.File, 0, len(units))
	for _, u := range units {
		if u.tree == nil || u.tree.Module == nil {
			continue
		}
		u.file = &check.File{Name: u.module.Name, Source: string(u.module.Source), Tree: u.tree, Loads: map[string]*check.File{}, Broken: u.code == nil}
		u.file.Pure = u != entry || len(mains(u.tree)) > 0
		u.file.Child, u.file.Agent = c.of(b), c.agents
		for written, v := range u.loads {
			u.file.Loads[written] = v.file
		}
		files = append(files, u.file)
	}
	return files
}

// merge puts the diagnostics into the order of the modules and of their text. What both have found,
// a mistake in the contract of the inputs, stands once.
func merge(units []*unit, compiled, checked diagnostic.List) diagnostic.List {
	var all diagnostic.List
	for _, u := range units {
		var own diagnostic.List
		for _, d := range compiled {
			if d.File == u.module.Name {
				own = append(own, d)
			}
		}
		broken := len(own) > 0
		for _, d := range checked {
			if d.File == u.module.Name && !slices.ContainsFunc(own, func(e diagnostic.Diagnostic) bool {
				return e.Line == d.Line && e.Col == d.Col && e.Message == d.Message
			}) && (!broken || d.Severity == diagnostic.Error) {
				own = append(own, d)
			}
		}
		own.Sort()
		for _, d := range own {
			d.Fix = cmp.Or(d.Fix, d.Mend())
			all = append(all, d)
		}
	}
	return all
}

// unit is a module on its way through the compiler.
type unit struct {
	module      *Module
	predeclared []string // names that the module may use beside those of the universe
	tree        *syntax.File
	code        *compile.Module
	loads       map[string]*unit // by the name that the load statement writes
	file        *check.File
}

// compileUnits compiles every module of the program and gathers what is wrong. Of modules that are
// kept compiled, which the entry never is, there are no trees.
func compileUnits(b *Bundle, env *effect.Environment, globals func(string) bool, kept *kept) ([]*unit, diagnostic.List) {
	var units []*unit
	var list diagnostic.List
	byModule := map[*Module]*unit{}
	names := slices.Clip(env.Names.Keys())
	for _, m := range b.Modules() {
		u := &unit{module: m, predeclared: names, loads: map[string]*unit{}}
		byModule[m] = u
		units = append(units, u)
		keeps := kept != nil && m != b.entry
		if keeps && u.recall(kept) {
			continue
		}
		tree, err := m.tree()
		if m == b.entry && globals != nil {
			tree, err = parseAs(m, chunkOptions(env.Behaviour))
		}
		if err == nil {
			u.tree = tree
			err = u.link(byModule)
		}
		if err == nil {
			if m == b.entry && globals == nil && len(mains(tree)) == 0 {
				u.predeclared = append(u.predeclared, Args)
			}
			err = u.compile(m == b.entry, globals, env.Reached != nil)
		}
		if keeps && err == nil {
			kept.store(m.Name, m.Hash, u.code)
		}
		list = append(list, u.problems(err)...)
	}
	return units, list
}

// kept is what an environment keeps compiled.
type kept struct {
	cache effect.Cache
	names [sha256.Size]byte // that a program may use
	marks bool
}

// compiled is all that the code of a module, or of a whole program, depends on.
type compiled struct {
	module        string // "" for a program
	source, names [sha256.Size]byte
	marks         bool
}

// keptFor is nil for an environment that keeps nothing.
func keptFor(env *effect.Environment) *kept {
	if env.Compiled == nil {
		return nil
	}
	return &kept{env.Compiled, sha256.Sum256([]byte(strings.Join(env.Names.Keys(), "\n"))), env.Reached != nil}
}

func (k *kept) load(module string, source [sha256.Size]byte) (any, bool) {
	return k.cache.Load(compiled{module, source, k.names, k.marks})
}

func (k *kept) store(module string, source [sha256.Size]byte, code any) {
	k.cache.Store(compiled{module, source, k.names, k.marks}, code)
}

// recall takes the code that is kept of a module, if all that it loads is there.
func (u *unit) recall(kept *kept) bool {
	known, ok := kept.load(u.module.Name, u.module.Hash)
	if !ok {
		return false
	}
	code := known.(*compile.Module)
	for _, l := range code.Loads {
		if !slices.ContainsFunc(u.module.loads, func(m *Module) bool { return m.Name == l.Module }) {
			return false
		}
	}
	u.code = code
	return true
}

// link finds the modules that the load statements name. The bundle holds them all, unless it was
// tampered with.
func (u *unit) link(byModule map[*Module]*unit) error {
	for _, s := range u.tree.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		name, err := moduleName(u.module.Name, l.ModuleName())
		i := slices.IndexFunc(u.module.loads, func(m *Module) bool { return m.Name == name })
		if err != nil || i < 0 {
			return diagnostic.List{u.module.refusal("missing_module", "cannot load", l.Module)(errors.New("the bundle does not hold it"))}
		}
		u.loads[l.ModuleName()] = byModule[u.module.loads[i]]
	}
	return nil
}

func (u *unit) compile(entry bool, globals func(string) bool, marks bool) error {
	src := compile.Source{
		Name:        u.module.Name,
		Text:        u.module.Source,
		Options:     *u.tree.Options,
		Predeclared: func(name string) bool { return slices.Contains(u.predeclared, name) },
		Module:      func(path string) string { return u.loads[path].module.Name },
		Marks:       marks,
	}
	if entry {
		src.Globals = globals
	}
	code, err := compile.CompileFile(src, u.tree)
	if later, others := laterNames(u.tree, err); entry && globals != nil && len(later) > 0 && !others {
		src.Globals = func(name string) bool { return globals(name) || later[name] }
		code, err = compile.Compile(src) // resolving has changed the tree
	}
	u.code = code
	return err
}

// problems turns an error of any stage into diagnostics.
func (u *unit) problems(err error) diagnostic.List {
	var list diagnostic.List
	var names resolve.ErrorList
	var limit *compile.Error
	switch {
	case err == nil || errors.As(err, &list):
		return list
	case errors.As(err, &names):
		for _, e := range names {
			list = append(list, u.nameProblem(e))
		}
		list.Sort()
		return list
	case errors.As(err, &limit):
		return diagnostic.List{u.module.problem("limit", limit.Pos, 1, limit.Msg)}
	}
	return diagnostic.List{{Kind: "internal", File: u.module.Name, Message: fmt.Sprintf("cannot be compiled: %v", err)}}
}

func program(b *Bundle, units []*unit) *Program {
	p := &Program{Hash: b.Hash(), Bundle: b}
	for _, u := range units {
		p.Modules = append(p.Modules, u.code)
	}
	return p
}
