package project

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// maxFurther bounds retries and reasks.
const maxFurther = 100

// A machine with less could hardly load a script.
const (
	minSteps  = 1_000
	minMemory = 1 << 20

	minTogether = 16 << 20
)

// A trim replays what it drops and commits some rows: it is not worth it for less.
const minKeep = 100

// Parse reads a project file. name is what messages call it. The error is a [diagnostic.List] with
// everything that is wrong, in the order of the file; a mistake in the TOML itself is found alone.
func Parse(name string, text []byte) (*File, error) { return Check(name, text, nil) }

// Check is Parse, and has the filters of [inbox] read by whoever reads them; nil is nobody. It says
// what is wrong with them at their places, too.
func Check(name string, text []byte, reads func(filter string) error) (*File, error) {
	var root map[string]any
	if err := toml.Unmarshal(text, &root); err != nil {
		return nil, diagnostic.List{syntaxError(name, string(text), err)}
	}
	r := &reader{file: name, text: string(text), places: locate(text)}
	f := r.project(table{values: root})
	if reads != nil {
		r.checkSections(f, reads)
	}
	r.wrong.Sort()
	if err := r.wrong.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

func syntaxError(name, text string, err error) diagnostic.Diagnostic {
	d := diagnostic.Diagnostic{Kind: "syntax", Message: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		d.File = name
		return d
	}
	line, column := at.Position() // column counts bytes
	start := diagnostic.Offset(text, line, 1) + column - 1
	return d.At(name, text, start, start+1)
}

// reader checks the values of a file and gathers what is wrong with them, each at its place.
type reader struct {
	file   string
	text   string
	places map[string]place
	wrong  diagnostic.List
}

// table is one table of the file with the path that leads to it.
type table struct {
	path   []string
	values map[string]any
}

// at is the path of a key, element that of an element of the list that it has.
func (t table) at(key string) []string             { return append(t.path[:len(t.path):len(t.path)], key) }
func (t table) element(key string, i int) []string { return append(t.at(key), index(i)) }

func (r *reader) project(t table) *File {
	r.onlyKeys(t, "fake", "protected", "git", "machine", "owner", "store", "engine", "defaults", "agents",
		"grants", "secrets", "sh", "tools", "notify", "inbox", "webhooks", "prices", "budgets", "telemetry")
	f := &File{Shell: Shell{Sandbox: WholeSandbox}, Protected: r.patterns(t, "protected")}
	if git, ok := r.table(t, "git"); ok {
		r.onlyKeys(git, "filters")
		f.Filters = r.filters(git)
	}
	if fake, ok := r.string(t, "fake"); ok {
		f.Fake = fake
		if fake == "" {
			r.refuse(t.at("fake"), `""`, "the path of a script", "")
		}
	}
	if machine, ok := r.table(t, "machine"); ok {
		r.onlyKeys(machine, "steps", "memory", "agents")
		f.Machine = Machine{Steps: r.bound(machine, "steps", minSteps), Memory: r.bound(machine, "memory", minMemory), Agents: r.bound(machine, "agents", 1)}
	}
	if owner, ok := r.table(t, "owner"); ok {
		r.onlyKeys(owner, "require", "memory")
		f.Together = r.bound(owner, "memory", minTogether)
		_, f.Marks = r.oneOf(owner, "require", "", "marks")
	}
	r.kept(f, t)
	if defaults, ok := r.table(t, "defaults"); ok {
		r.onlyKeys(defaults, "timeout", "retries", "reasks")
		f.Defaults = r.limits(defaults)
	}
	r.each(t, "agents", func(name string, agent table) { f.Agents = append(f.Agents, r.agent(name, agent)) })
	r.checkLists(f, table{path: t.at("agents")})
	if shell, ok := r.table(t, "sh"); ok {
		f.Shell = r.shell(shell)
	}
	r.each(t, "grants", func(name string, grant table) { f.Grants = append(f.Grants, r.grant(name, grant)) })
	r.each(t, "secrets", func(name string, secret table) { f.Secrets = append(f.Secrets, r.secret(name, secret)) })
	r.each(t, "tools", func(name string, server table) { f.Tools = append(f.Tools, r.tool(name, server)) })
	r.checkUses(f, table{path: t.at("tools")})
	r.money(t, f)
	r.each(t, "notify", func(name string, channel table) { f.Notify = append(f.Notify, r.notify(name, channel)) })
	r.checkHooks(f, table{path: t.at("notify")})
	r.each(t, "webhooks", func(name string, hook table) { f.Webhooks = append(f.Webhooks, r.incoming(f, name, hook)) })
	f.Inbox = r.inbox(t)
	r.telemetry(f, t)
	r.checkUse(f, t.at("store"), f.StoreURL)
	r.checkUse(f, t.at("engine"), f.Engine.Key)
	r.checkQueues(f, t.at("agents"))
	r.checkServers(f, table{path: t.at("agents")})
	r.checkSandboxes(f, table{path: t.at("agents")})
	r.checkGrantedTools(f, table{path: t.at("grants")})
	return f
}

// each reads the tables below a key, in the order of the file.
func (r *reader) each(t table, key string, read func(name string, t table)) {
	all, _ := r.table(t, key)
	for _, name := range r.inOrder(all) {
		if one, ok := r.table(all, name); ok {
			read(name, one)
		}
	}
}

// minLease is the shortest lease of a store's owner: a server that is busy for a moment must not
// end it.
const minLease = time.Second

// kept reads where runs are kept, and what drives them.
func (r *reader) kept(f *File, t table) {
	if store, ok := r.table(t, "store"); ok {
		r.store(f, store)
	}
	if engine, ok := r.table(t, "engine"); ok {
		r.engine(f, engine)
	}
}

// store reads where the store is and how it is kept. A password has no place in a project file.
func (r *reader) store(f *File, t table) {
	r.onlyKeys(t, "keep", "url", "lease")
	f.Keep = r.bound(t, "keep", minKeep)
	f.StoreURL, _ = r.string(t, "url")
	f.Lease = r.duration(t, "lease")
	if f.Lease > 0 && f.Lease < minLease {
		r.refuse(t.at("lease"), show(t.values["lease"]), "a duration of at least 1s", "")
	}
	const form = "the address of a PostgreSQL database, such as postgres://USER@HOST:5432/DATABASE"
	plain := Placeholder().ReplaceAllString(f.StoreURL, "")
	u, err := url.Parse(plain)
	switch _, given := t.values["url"]; {
	case !given, plain == "" && f.StoreURL != "":
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		r.refuse(t.at("url"), "another text", form, "")
	default:
		password, _ := u.User.Password()
		if password+u.Query().Get("password")+u.Query().Get("sslpassword") != "" {
			r.refuse(t.at("url"), "a password in plain text", "{NAME} in its place, for a secret that [secrets.NAME] says where to find",
				"PGPASSWORD and ~/.pgpass serve too")
		}
	}
}

// engine reads which server drives the runs. A key has no place in a project file.
func (r *reader) engine(f *File, t table) {
	r.onlyKeys(t, "temporal", "namespace", "queue", "tls", "key")
	e := &f.Engine
	e.Temporal, _ = r.string(t, "temporal")
	e.Namespace, _ = r.string(t, "namespace")
	e.Queue, _ = r.string(t, "queue")
	e.TLS = r.flag(t, "tls")
	e.Key, _ = r.string(t, "key")
	if _, _, err := net.SplitHostPort(e.Temporal); err != nil {
		r.refuse(t.at("temporal"), show(t.values["temporal"]), "the address of a Temporal server, such as localhost:7233", "")
	}
	if e.Key != "" && Placeholder().FindString(e.Key) != e.Key {
		r.refuse(t.at("key"), "a key in plain text", "{NAME} in its place, for a secret that [secrets.NAME] says where to find", "")
	}
	if e.Key != "" && !e.TLS {
		r.refuse(t.at("key"), "a key without tls", "tls = true, for a key is not sent in the open", "")
	}
}

// checkQueues refuses queues where no engine has workers.
func (r *reader) checkQueues(f *File, agents []string) {
	for _, a := range f.Agents {
		if a.Queue != "" && f.Engine.Temporal == "" {
			r.refuse(append(agents[:len(agents):len(agents)], a.Name, "queue"), "a queue without [engine]", "the workers of a server, which [engine] names", "backend = \"inbox\" is for work that other machines come for")
		}
	}
}

// money reads what models cost, and what may be spent.
func (r *reader) money(t table, f *File) {
	if prices, ok := r.table(t, "prices"); ok {
		f.Prices = r.prices(prices)
	}
	if budgets, ok := r.table(t, "budgets"); ok {
		for _, name := range r.inOrder(budgets) {
			if budget, ok := r.table(budgets, name); ok {
				f.Budgets = append(f.Budgets, r.budget(name, budget))
			}
		}
	}
}

func (r *reader) shell(t table) Shell {
	r.onlyKeys(t, "allow", "env", "read", "write", "network", "sandbox")
	s := Shell{Allow: r.strings(t, "allow"), Env: r.variables(t), Read: r.strings(t, "read"), Write: r.strings(t, "write"), Network: r.strings(t, "network")}
	s.Sandbox, _ = r.oneOf(t, "sandbox", WholeSandbox, WholeSandbox, PartialSandbox, NoSandbox)
	r.notEmpty(t, "allow", s.Allow, "the name of a program")
	r.notEmpty(t, "read", s.Read, "a path")
	r.notEmpty(t, "write", s.Write, "a path")
	for i, program := range s.Network {
		if !slices.Contains(s.Allow, program) {
			r.refuse(t.element("network", i), fmt.Sprintf("%q", program), "one of the programs in allow", diagnostic.Meant(program, s.Allow))
		}
	}
	return s
}

func (r *reader) notEmpty(t table, key string, texts []string, want string) {
	if i := slices.Index(texts, ""); i >= 0 {
		r.refuse(t.element(key, i), `""`, want, "")
	}
}

func (r *reader) grant(script string, t table) Grant {
	if err := effect.CheckName(script); err != nil && script != AnyScript {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error(), Hint: `write the name of a definition, or "*" for every script of others`})
	}
	r.onlyKeys(t, "by", "agents", "hosts", "files", "programs", "tools")
	if _, given := t.values["by"]; given && script == AnyScript {
		r.complain(t.at("by"), diagnostic.Diagnostic{Message: `"*" is no name that somebody defines`})
	}
	by := r.strings(t, "by")
	return Grant{Script: script, By: by, Agents: r.strings(t, "agents"), Hosts: r.strings(t, "hosts"), Files: r.files(t), Programs: r.strings(t, "programs"),
		Tools: r.strings(t, "tools")}
}

func (r *reader) files(t table) []string {
	rights := r.strings(t, "files")
	for i, right := range rights {
		if right != ReadFiles && right != WriteFiles {
			r.refuse(t.element("files", i), fmt.Sprintf("%q", right), "read or write", diagnostic.Meant(right, []string{ReadFiles, WriteFiles}))
		}
	}
	return rights
}

func (r *reader) limits(t table) Limits {
	return Limits{Timeout: r.duration(t, "timeout"), Retries: r.count(t, "retries"), Reasks: r.count(t, "reasks")}
}

func (r *reader) duration(t table, key string) time.Duration {
	v, given := t.values[key]
	if !given {
		return 0
	}
	text, _ := v.(string)
	d, err := contract.ParseDuration(text)
	if err != nil || d <= 0 {
		r.refuse(t.at(key), show(v), `a duration such as "90s" or "2h", longer than 0`, "")
		return 0
	}
	return d
}

func (r *reader) count(t table, key string) *int {
	v, given := t.values[key]
	if !given {
		return nil
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > maxFurther {
		r.refuse(t.at(key), show(v), fmt.Sprintf("an int from 0 to %d", maxFurther), "")
		return nil
	}
	count := int(n)
	return &count
}

// bound reads an int of at least so much; 0 where it was left out.
func (r *reader) bound(t table, key string, least int64) int64 {
	v, given := t.values[key]
	n, ok := v.(int64)
	if given && (!ok || n < least) {
		r.refuse(t.at(key), show(v), fmt.Sprintf("an int of at least %d", least), "")
		return 0
	}
	return n
}

// filters reads the names of filters, which stand in keys of git's configuration.
func (r *reader) filters(t table) []string {
	names := r.strings(t, "filters")
	for i, name := range names {
		if !filterName().MatchString(name) {
			r.refuse(t.element("filters", i), fmt.Sprintf("%q", name), `the name of a filter, as "lfs"`, "")
		}
	}
	return names
}

var filterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func (r *reader) variables(t table) []string {
	names := r.strings(t, "env")
	seen := map[string]bool{}
	for i, name := range names {
		path := t.element("env", i)
		switch {
		case !variableName().MatchString(name):
			r.refuse(path, fmt.Sprintf("%q", name), "the name of an environment variable, without its value", "")
		case strings.HasPrefix(name, "STARLING_"):
			r.refuse(path, fmt.Sprintf("%q", name), "a name that does not begin with STARLING_", "these are set for every agent")
		case seen[name]:
			r.complain(path, diagnostic.Diagnostic{Message: fmt.Sprintf("%s is named twice", name)})
		}
		seen[name] = true
	}
	return names
}

// contract reads a type. What is wrong inside it is shown at its own place where the text stands in
// the file as it is, without escapes.
func (r *reader) contract(t table, key string) string {
	text, ok := r.string(t, key)
	if !ok {
		return ""
	}
	c, err := contract.Parse(r.file, text)
	if err == nil {
		return c.String()
	}
	var inner diagnostic.List
	errors.As(err, &inner)
	for _, d := range inner {
		r.placeInside(t.at(key), text, d)
	}
	return ""
}

func (r *reader) placeInside(path []string, text string, d diagnostic.Diagnostic) {
	d.Path, d.File = dotted(path), ""
	value := r.places[pathKey(path)].value
	from := strings.Index(r.text[value.start:value.end], text)
	if from < 0 || d.Line == 0 {
		d.Line, d.Col, d.EndCol, d.Text = 0, 0, 0, ""
		r.wrong = append(r.wrong, d.At(r.file, r.text, value.start, value.end))
		return
	}
	start := diagnostic.Offset(text, d.Line, d.Col)
	end := max(start+1, diagnostic.Offset(text, d.Line, d.EndCol))
	from += value.start
	r.wrong = append(r.wrong, d.At(r.file, r.text, from+start, from+end))
}
