package stdlib

import (
	_ "embed"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
	"starling/stdlib/agent"
	"starling/stdlib/git"
	"starling/stdlib/notify"
	"starling/stdlib/pdf"
	"starling/stdlib/tool"
)

// Behaviour is the number that runs are recorded with. It moves when the result of a builtin, the
// text of an error that scripts can see, what work costs or what a machine says changes. 2 charges
// tables, sorting and what else was free, and counts memory by what it really takes; under 3 a
// branch of parallel fails only when it raises, and under 7 it says so.
const Behaviour = 7

//go:embed library.txt
var libraryText string

// Options are what the environment is built from.
type Options struct {
	// Natives are the builtins of the machine, such as parallel and attempt; they are predeclared
	// beside those of this package.
	Natives starlark.StringDict
	// Tests adds what only test files see: assert and the builtins that script the world around
	// what is tested. Whoever says so serves requests of kind "test".
	Tests bool
	// Cast says who plays an agent before anybody else is looked for; nil for nobody.
	Cast agent.Cast
	// Transport carries the requests of http; nil for the network.
	Transport http.RoundTripper
	// Fonts are the folders with the fonts of pdf.make; nil for those of the system.
	Fonts []string
	// Reached is that of the environment.
	Reached func(module string, n int) []atomic.Uint32
	// Compiled is that of the environment.
	Compiled effect.Cache
}

// Environment builds everything that scripts see and all that serves it. It panics if one of the
// natives has the name of a builtin of this package.
func Environment(o Options) *effect.Environment {
	names := predeclared()
	tests := testNames()
	if o.Tests {
		maps.Copy(names, tests)
	}
	for name, v := range o.Natives {
		if _, taken := names[name]; taken {
			panic("stdlib: two builtins are called " + name)
		}
		names[name] = v
	}
	names.Freeze()
	tests.Freeze()
	servers := tool.NewServers()
	env := &effect.Environment{Names: names, OfTests: tests, Docs: libraryText, Behaviour: Behaviour,
		Since: effect.BehaviourUnbounded, Reached: o.Reached, Compiled: o.Compiled}
	handlers := agent.Handlers(agent.Machines(env), o.Cast, servers)
	for _, kind := range []string{"agent", "handoff"} {
		handlers[kind].Resolve = grantedAgentFiles(handlers[kind].Resolve)
	}
	handlers["http"] = httpHandler(o.Transport)
	handlers["artifact"] = artifactHandler()
	handlers["context"] = contextHandler()
	handlers["fs"] = fsHandler()
	handlers["measure"] = measureHandler()
	handlers["pdf"] = pdfHandler(o.fonts)
	handlers["sh"] = shHandler()
	handlers["journal"] = journalHandler()
	handlers[effect.KindSchedule] = scheduleHandler()
	handlers["tool"] = servers.Handler()
	handlers["notify"] = notify.Handler()
	trees := newTrees()
	keeper := new(git.Keeper)
	handlers["workspace"] = workspaceHandler(trees, keeper)
	for kind, h := range handlers {
		handlers[kind] = trees.within(h)
	}
	env.Handlers, env.Tidy, env.Rest = handlers, trees.tidy, keeper.Close
	return env
}

func (o *Options) fonts() []string {
	if o.Fonts != nil {
		return o.Fonts
	}
	return pdf.Folders()
}

func predeclared() starlark.StringDict {
	names := members(agentBuiltin(), handoffBuiltin(), gateBuiltin(), runBuiltin(), sleepBuiltin(), printBuiltin(), emitBuiltin(), failBuiltin(),
		roleBuiltin(), contractBuiltin(), replyBuiltin(), artifactBuiltin())
	for _, b := range append(verdictBuiltins(), clockBuiltins()...) {
		names[b.FullName] = b
	}
	for name, contents := range map[string]starlark.StringDict{
		"context":   members(contextModule()...),
		"digest":    members(digestModule()...),
		"fs":        members(fsModule()...),
		"http":      members(httpModule()...),
		"journal":   members(journalModule()...),
		"json":      members(jsonModule()...),
		"log":       members(logModule()...),
		"mailbox":   members(mailboxModule()...),
		"math":      mathModule(),
		"mcp":       members(mcpModule()...),
		"measure":   members(measureModule()...),
		"memory":    memoryModule(),
		"pdf":       members(pdfModule()...),
		"project":   members(findModule()...),
		"queue":     members(queueModule()...),
		"re":        members(reModule()...),
		"schedule":  members(scheduleModule()...),
		"secrets":   members(secretsModule()...),
		"text":      members(textModule()...),
		"workspace": members(workspaceModule()...),
		"yaml":      members(yamlModule()...),
		"sh":        members(shBuiltin()),
		"time":      timeModule(names["now"].(*effect.Builtin)),
	} {
		names[name] = &starlarkstruct.Module{Name: name, Members: contents}
	}
	return names
}

// members names builtins by the last part of their names.
func members(builtins ...*effect.Builtin) starlark.StringDict {
	d := starlark.StringDict{}
	for _, b := range builtins {
		d[b.FullName[strings.LastIndexByte(b.FullName, '.')+1:]] = b
	}
	return d
}
