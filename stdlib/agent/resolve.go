package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/confine"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// What holds where the call, the role, the agent's own section and the project's defaults are
// silent.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultRetries = 1
	DefaultReasks  = 2
)

// resolver completes requests. It reads nothing but its arguments: a run's settings hold the bytes
// of everything.
type resolver struct{ fakes *fakes }

func (r resolver) agent(s *effect.Settings, q *effect.Request) *effect.Error {
	args, err := q.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "agent: %v", err)
	}
	p, fault := r.find(s, roleOf(args.Value("who")), names(args.Value("backend")), args.Value("tools"))
	if fault != nil {
		return fault
	}
	if fault := p.exclude(args.Value("not_by")); fault != nil {
		return fault
	}
	p.complete(q, args, "output")
	return nil
}

// exclude leaves out who must not serve. Whoever must not be asked is refused, and so is a call
// that nobody is left for.
func (p *party) exclude(v starlark.Value) *effect.Error {
	not, _ := effect.Identities(v)
	if slices.Contains(not, p.role.name) {
		return effect.Errorf(effect.KindRefused, "agent %q: not_by names it, for maker and checker are not the same; ask another", p.role.name)
	}
	p.candidates = slices.DeleteFunc(p.candidates, func(c Candidate) bool { return slices.Contains(not, c.Serves) })
	if len(p.candidates) == 0 {
		return effect.Errorf(effect.KindRefused, "agent %q: all that could serve it are among those that not_by names, %s; give it another backend", p.role.name, strings.Join(not, ", "))
	}
	return nil
}

// party is an agent with all that is known of it.
type party struct {
	role       role
	project    project.Agent // of its name; zero without a section
	defaults   project.Limits
	total      int64       // agents that may be at work at once; 0 for any number
	definition Definition  // without who serves
	candidates []Candidate // to serve, the preferred one first
}

// role is a role, or the name of one with everything else unknown.
type role struct {
	name   string
	record *effect.Record // nil for a name
}

func roleOf(v starlark.Value) role {
	if r, ok := v.(*effect.Record); ok {
		name, _ := starlark.AsString(r.Field("name"))
		return role{name, r}
	}
	name, _ := starlark.AsString(v)
	return role{name: name}
}

// field returns what the role says, None where it is silent.
func (r role) field(name string) starlark.Value {
	if r.record == nil {
		return starlark.None
	}
	return r.record.Field(name)
}

func (r role) text(name string) string {
	s, _ := starlark.AsString(r.field(name))
	return s
}

// find looks an agent up: its name in the fake, then the names of its backends (the call's, else
// the role's, else the project's, else its own) in the fake and in the project file. What the
// project says of its own name holds whoever serves, so that an agent under test has the contract
// of the real one.
func (r resolver) find(s *effect.Settings, who role, backends []string, tools starlark.Value) (*party, *effect.Error) {
	f, fault := projectOf(s)
	if fault != nil {
		return nil, fault
	}
	fake, fault := r.fakes.of(s)
	if fault != nil {
		return nil, fault
	}
	p := &party{role: who, defaults: f.Defaults, total: f.Machine.Agents}
	p.project, _ = f.Agent(who.name)
	p.definition = Definition{Agent: who.name, Instructions: firstOf(who.text("instructions"), p.project.Instructions)}
	serve := expand(f, firstList(backends, names(who.field("backend")), []string{who.name}))
	if fault := granted(s, f, append(serve, who.name)...); fault != nil {
		return nil, fault
	}
	if _, ok := r.fakes.part(fake, who.name); ok {
		plays := tool.Own(f, p.tools(Candidate{Tools: p.project.Tools}, tools))
		p.candidates = []Candidate{{Serves: serve[0], Backend: backendScripted, Function: who.name, Servers: plays}}
		return p, fake.ambiguous(who.name, f.Names())
	}
	for _, name := range serve {
		c, fault := r.candidate(s, f, fake, name)
		if fault != nil {
			return nil, fault
		}
		if c, fault = p.equip(s, f, c, tools); fault != nil {
			return nil, fault
		}
		p.candidates = append(p.candidates, c)
	}
	return p, nil
}

// expand puts those in the place of an agent whose backends it lists.
func expand(f *project.File, list []string) []string {
	var serve []string
	for _, name := range list {
		a, _ := f.Agent(name)
		for _, name := range firstList(a.Backends, []string{name}) {
			if !slices.Contains(serve, name) {
				serve = append(serve, name)
			}
		}
	}
	return serve
}

// candidate is who serves under a name.
func (r resolver) candidate(s *effect.Settings, f *project.File, fake *fake, name string) (Candidate, *effect.Error) {
	a, ok := f.Agent(name)
	if _, plays := r.fakes.part(fake, name); plays {
		return Candidate{Serves: name, Backend: backendScripted, Function: name, Tools: a.Tools}, fake.ambiguous(name, f.Names())
	}
	switch {
	case !ok:
		return Candidate{}, unknown(s, name, f, fake)
	case a.Backend == backendScripted && s.FakeFile == "":
		return Candidate{}, effect.Errorf(effect.KindRefused, "the agent %q is scripted, and there is no fake; run with --fake FILE", name)
	case a.Backend == backendScripted:
		return Candidate{}, effect.Errorf(effect.KindRefused, "the agent %q is scripted, and the fake %s has no function %s", name, s.FakeFile,
			functionName(name))
	}
	c := candidateOf(a)
	if a.Backend == backendCommand || a.Backend == backendACP {
		c.Dir = path.Dir(s.ProjectFile)
	}
	if a.Sandbox {
		c.Sandbox, c.Reads, c.Writes = f.Shell.Sandbox, confine.From(c.Dir, f.Shell.Read), confine.From(c.Dir, f.Shell.Write)
	}
	if a.Cassette == "" || s.Cassettes == "" {
		return c, nil
	}
	tape := path.Join(path.Dir(s.ProjectFile), a.Cassette)
	if path.IsAbs(a.Cassette) {
		tape = a.Cassette
	}
	if s.Cassettes == effect.CassettesPlay {
		return Candidate{Serves: name, Backend: backendCassette, Cassette: tape, Modifies: a.Modifies, Tools: a.Tools,
			Model: a.Model, Price: c.Price}, nil
	}
	c.Cassette = tape
	return c, nil
}

// equip gives a candidate what it may use: what the call says, else the role, else the project.
// What names no tool server is a preset's own notation.
func (p *party) equip(s *effect.Settings, f *project.File, c Candidate, tools starlark.Value) (Candidate, *effect.Error) {
	if modifies, ok := p.role.field("modifies").(starlark.Bool); ok {
		c.Modifies = bool(modifies)
	}
	if c.Backend == backendScripted || c.Backend == backendCassette {
		c.Tools, c.Servers = nil, tool.Own(f, p.tools(c, tools))
		return c, nil
	}
	if c.Backend == backendMCP {
		return asTool(s, f, c)
	}
	grants, others, fault := tool.FindAll(s, f, p.tools(c, tools))
	if fault != nil {
		return c, fault
	}
	unknown := others
	switch c.Backend {
	case backendCommand:
		unknown = nil
	case backendACP:
		unknown = slices.DeleteFunc(slices.Clone(others), func(t string) bool { return slices.Contains(ToolKinds(), t) })
	}
	if len(unknown) > 0 {
		fault = tool.Unknown(s, f, unknown[0])
		fault.Message = "agent " + p.role.name + ": " + fault.Message
		if c.Backend == backendACP {
			fault.Message += "; kinds of its own tools are " + strings.Join(ToolKinds(), ", ")
		}
		return c, fault
	}
	c.Tools, c.Servers = others, grants
	c.Unheld = p.unheld(c)
	return c, nil
}

// unheld lists what the author has bounded and nothing holds the agent to: of a program that is
// nobody's preset only the tool servers are known, and where it writes only to a sandbox.
func (p *party) unheld(c Candidate) (list []string) {
	program := c.Backend == backendCommand && c.Preset == ""
	if program && len(c.Tools) > 0 {
		list = append(list, "it may use any tool of its own, not only "+strings.Join(c.Tools, ", ")+
			": it is no preset")
	}
	changes, said := p.role.field("modifies").(starlark.Bool)
	if (program || c.Backend == backendACP) && said && !bool(changes) && c.Sandbox == "" {
		list = append(list, fmt.Sprintf("it can change files, though its role says modifies = False; "+
			"sandbox = true in [agents.%s] keeps it from that", c.Serves))
	}
	return list
}

// asTool gives a candidate the one tool that it is. The agent's own deadline bounds the call.
func asTool(s *effect.Settings, f *project.File, c Candidate) (Candidate, *effect.Error) {
	a, _ := f.Agent(c.Serves)
	g, _, fault := tool.Find(s, f, starlark.String(a.Server+"."+a.Tool))
	if fault != nil {
		return c, fault
	}
	g.Timeout = max(g.Timeout, maxToolAgent)
	c.Tools, c.Servers = nil, []tool.Grant{g}
	return c, nil
}

// maxToolAgent bounds an agent that is a tool where nobody bounds it sooner.
const maxToolAgent = 24 * time.Hour

// tools lists what the first of these says that says anything.
func (p *party) tools(c Candidate, call starlark.Value) []starlark.Value {
	for _, v := range []starlark.Value{call, p.role.field("tools")} {
		if list, ok := v.(starlark.Iterable); ok {
			return slices.Collect(starlark.Elements(list))
		}
	}
	list := make([]starlark.Value, len(c.Tools))
	for i, t := range c.Tools {
		list[i] = starlark.String(t)
	}
	return list
}

// names reads a backend as calls and roles give it: a name, a list of names in order of preference,
// or None.
func names(v starlark.Value) []string {
	if list, ok := v.(starlark.Iterable); ok {
		return texts(list)
	}
	if name, _ := starlark.AsString(v); name != "" {
		return []string{name}
	}
	return nil
}

// texts lists strings that were checked when they were written.
func texts(list starlark.Iterable) []string {
	var out []string
	for e := range starlark.Elements(list) {
		s, _ := starlark.AsString(e)
		out = append(out, s)
	}
	return out
}

func firstList(lists ...[]string) []string {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// granted refuses agents that a script of others is not granted.
func granted(s *effect.Settings, f *project.File, names ...string) *effect.Error {
	if s.Grant == "" {
		return nil
	}
	may := f.Granted(s.Grant).Agents
	for _, name := range names {
		if !slices.Contains(may, name) {
			return effect.Errorf(effect.KindDenied, "the script is not the project's own and is not granted the agent %q; add it to agents under [grants.%q] in %s",
				name, s.Grant, project.Name)
		}
	}
	return nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// unknown says where an agent was looked for, and what was there.
func unknown(s *effect.Settings, name string, f *project.File, fake *fake) *effect.Error {
	var looked []string
	if s.FakeFile != "" {
		looked = append(looked, "the fake "+s.FakeFile)
	}
	if s.ProjectFile != "" {
		looked = append(looked, s.ProjectFile)
	}
	names := everybody(s, f, fake)
	if len(looked) == 0 {
		return effect.Errorf(effect.KindRefused, "no agent %q: there is neither a fake nor a %s; add [agents.%s] to a %s, or run with --fake FILE",
			name, project.Name, name, project.Name)
	}
	where := strings.Join(looked, " and ")
	if hint := diagnostic.DidYouMean(name, names); hint != "" {
		return effect.Errorf(effect.KindRefused, "no agent %q in %s; %s", name, where, hint)
	}
	if len(names) == 0 {
		return effect.Errorf(effect.KindRefused, "no agent %q in %s, which has none", name, where)
	}
	return effect.Errorf(effect.KindRefused, "no agent %q in %s; there are %s", name, where, strings.Join(names, ", "))
}

// isTest tells whether a function of a fake is a test, and so nobody's part.
func isTest(file, function string) bool {
	return strings.HasSuffix(file, "_test.star") && strings.HasPrefix(function, "test_")
}

// projectOf reads the pinned project file; without one there are no agents.
func projectOf(s *effect.Settings) (*project.File, *effect.Error) {
	if len(s.Project) == 0 {
		return &project.File{}, nil
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "%v", err)
	}
	return f, nil
}

// complete sets the policy and the contract of the reply. The call wins over the role, the role
// over the agent's section, that over the project's defaults.
func (p *party) complete(q *effect.Request, args effect.View, returns string) {
	q.Policy.Timeout = firstDuration(textDuration(args.Text("timeout")), textDuration(p.role.text("timeout")), p.project.Limits.Timeout,
		p.defaults.Timeout, p.patience())
	q.Policy.Retries = firstCount(DefaultRetries, args.Value("retries"), p.role.field("retries"), p.project.Limits.Retries, p.defaults.Retries)
	q.Policy.Reasks = firstCount(DefaultReasks, args.Value("reasks"), nil, p.project.Limits.Reasks, p.defaults.Reasks)
	q.Returns = p.contract(args.Value(returns), "output", p.project.Output)
	for _, c := range p.candidates {
		q.Backends, q.Models = append(q.Backends, c.Serves), append(q.Models, c.Model)
		q.Steers = append(q.Steers, c.steering())
		if c.Backend == backendInbox {
			q.Pulls = append(q.Pulls, c.Serves)
		}
	}
	q.Breaker = !slices.ContainsFunc(p.candidates, func(c Candidate) bool { return c.Backend == backendScripted || c.Backend == backendCassette })
	q.Resolved = p.definition.payload(p.candidates)
	q.Changes = p.changes(args)
	q.Limit, q.Total = firstCount(0, p.role.field("limit"), nil, &p.project.Limit, nil), int(p.total)
}

// changes lists what the agent may change: what it owns or, where nobody says what, anything. An
// agent that owns something changes it, unless its role says that it changes nothing.
func (p *party) changes(args effect.View) []string {
	owns := firstList(args.Texts("owns"), names(p.role.field("owns")), p.project.Owns)
	modifies := p.project.Modifies || len(owns) > 0 || slices.ContainsFunc(p.candidates, func(c Candidate) bool { return c.Modifies })
	if said, ok := p.role.field("modifies").(starlark.Bool); ok {
		modifies = bool(said) || len(args.Texts("owns")) > 0
	}
	if !modifies {
		return nil
	}
	return firstList(owns, []string{effect.Everything})
}

// patience is how long an attempt may take of which nobody has said it. Who comes for the work has
// as long as the heartbeats last.
func (p *party) patience() time.Duration {
	if slices.ContainsFunc(p.candidates, func(c Candidate) bool { return c.Backend != backendInbox }) {
		return DefaultTimeout
	}
	return 0
}

// contract is the text of the first of: the call's, the role's, the project's.
func (p *party) contract(call starlark.Value, field, configured string) string {
	for _, v := range []starlark.Value{call, p.role.field(field)} {
		if c, ok := v.(*contract.Contract); ok {
			return c.String()
		}
	}
	return configured
}

// textDuration reads what was checked when it was written.
func textDuration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, _ := contract.ParseDuration(text)
	return d
}

func firstDuration(ds ...time.Duration) time.Duration {
	for _, d := range ds {
		if d > 0 {
			return d
		}
	}
	return 0
}

// firstCount takes the first count that is there: Starlark ints and pointers, nil and None are
// silent.
func firstCount(otherwise int, vs ...any) int {
	for _, v := range vs {
		switch v := v.(type) {
		case starlark.Int:
			n, _ := v.Int64()
			return int(n)
		case *int:
			if v != nil {
				return *v
			}
		}
	}
	return otherwise
}

// violations makes the error of a value that does not meet a contract; its data is [{path, got,
// want, hint}].
func violations(what string, list contract.Violations) *effect.Error {
	e := effect.Errorf(effect.KindInvalid, "%s: %v", what, fmt.Sprint(list))
	e.Data = effect.MustEncode(feedback(list))
	return e
}

// feedback is violations as an agent is told of them.
func feedback(list contract.Violations) *starlark.List {
	out := make([]starlark.Value, len(list))
	for i, v := range list {
		d := starlark.NewDict(4)
		for _, f := range [...][2]string{{"path", v.Path}, {"got", v.Got}, {"want", v.Want}, {"hint", v.Hint}} {
			if f[0] == "hint" && f[1] == "" {
				continue
			}
			if err := d.SetKey(starlark.String(f[0]), starlark.String(f[1])); err != nil {
				panic("agent: " + err.Error()) // a fresh dict with keys that are strings
			}
		}
		out[i] = d
	}
	return starlark.NewList(out)
}
