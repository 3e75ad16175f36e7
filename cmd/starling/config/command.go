package config

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"starling/cmd/starling/place"
	"starling/cmd/starling/plain"
	"starling/cmd/starling/sources"
	"starling/cmd/starling/table"
	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/stdlib/project"
)

// Host is the command line around the verb.
type Host struct {
	Place    func(context.Context) (*place.Place, error)
	Flags    func() Flags
	Getenv   func(string) (string, bool)
	Out      plain.Output
	Paper    func() table.Paper
	Answer   func(any) (wanted bool, _ error) // prints a document instead, if that is wanted
	JSON     func(*cobra.Command)             // adds the flags of documents
	Operands func(from, to int) cobra.PositionalArgs
}

// Commands are those below the verb config.
func Commands(h Host) []*cobra.Command {
	get := &cobra.Command{
		Use:   "get [KEY]",
		Short: "Print what is set: one value, those of a table, or all with where they come from",
		Args:  h.Operands(0, 1),
		RunE:  h.withBook(h.get),
	}
	set := &cobra.Command{
		Use:   "set KEY VALUE | KEY=VALUE...",
		Short: "Set a key of starling.toml, and leave all else in the file as it is",
		Long: `Set a key of starling.toml, or several that need each other. A value is written as in TOML, or as a text without quotes; a list also as a,b.
The file is only written if it is right afterwards. Comments, order and layout stay; a list with comments in it is refused. Several at once do not
lose what the others set.`,
		Example: "  starling config set defaults.timeout 10m\n  starling config set agents.triager.backend=anthropic agents.triager.model=claude-opus-4-5\n  starling config set sh.allow go,git",
		Args:    h.Operands(1, -1),
		RunE:    h.withPlace(h.set),
	}
	explain := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Say what a key takes and means, what it is set to, and by whom; without KEY of all",
		Args:  h.Operands(0, 1),
		RunE:  h.withBook(h.explain),
	}
	list := []*cobra.Command{get, set, explain}
	for _, cmd := range list {
		h.JSON(cmd)
		cmd.ValidArgsFunction = h.complete
	}
	return list
}

func (h Host) withPlace(do func(p *place.Place, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p, err := h.Place(cmd.Context())
		if err != nil {
			return err
		}
		return do(p, args)
	}
}

func (h Host) withBook(do func(b *book, args []string) error) func(*cobra.Command, []string) error {
	return h.withPlace(func(p *place.Place, args []string) error {
		b, err := read(p, h.Flags(), h.Getenv)
		if err != nil {
			return err
		}
		return do(b, args)
	})
}

// document is what config prints with --json.
type document struct {
	Schema string  `json:"schema"`
	Values []Value `json:"values"`
}

func (h Host) get(b *book, args []string) error {
	if len(args) == 0 {
		return h.list(b.all())
	}
	k, path, isTable, err := b.find(args[0])
	switch {
	case err != nil:
		return err
	case isTable:
		return h.list(b.below(path))
	}
	v := b.valueOf(k, path)
	if wanted, err := h.Answer(document{runtime.Schema, []Value{v}}); wanted || err != nil {
		return err
	}
	if v.Value == nil {
		return runtime.Refuse(runtime.ErrUnknownName, "by default: "+k.Default, "config: %s is not set", v.Key)
	}
	_, err = fmt.Fprintln(h.Out, v.text())
	return err
}

func (h Host) list(values []Value) error {
	if wanted, err := h.Answer(document{runtime.Schema, append([]Value{}, values...)}); wanted || err != nil {
		return err
	}
	rows := table.New(h.Paper(), "KEY", "VALUE", "FROM")
	for _, v := range values {
		rows.Row(v.Key, v.text(), v.Source.String())
	}
	return rows.Write(h.Out)
}

// valueOf is the value of a key of either kind.
func (b *book) valueOf(k project.Key, path []string) Value {
	if slices.ContainsFunc(outside(), func(o project.Key) bool { return o.Path == k.Path }) {
		return b.outer(k)
	}
	return b.one(k, path)
}

// explained is what explain prints with --json.
type explained struct {
	Schema string `json:"schema"`
	Value
	Takes   string `json:"takes"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

func (h Host) explain(b *book, args []string) error {
	if len(args) == 0 {
		return h.explainAll(b)
	}
	k, path, isTable, err := b.find(args[0])
	if err != nil {
		return err
	}
	if isTable && k.Path == "" {
		return h.explainTable(b, path)
	}
	v := b.valueOf(k, path)
	if isTable {
		v.Source = b.below(path)[0].Source
	}
	if wanted, err := h.Answer(explained{runtime.Schema, v, k.Takes, k.Default, k.Doc}); wanted || err != nil {
		return err
	}
	w := tabwriter.NewWriter(h.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n\n", v.Key)
	switch {
	case isTable:
		fmt.Fprintf(w, "  value\tbelow\n")
		for _, inner := range b.below(path) {
			fmt.Fprintf(w, "  \t%s = %s\n", inner.Key, literal(inner.Value))
		}
	case v.Value == nil:
		fmt.Fprintf(w, "  value\tnone\n")
	default:
		fmt.Fprintf(w, "  value\t%s\n", literal(v.Value))
	}
	fmt.Fprintf(w, "  from\t%s\n  takes\t%s\n  default\t%s\n", v.Source, k.Takes, k.Default)
	if note := b.note(v.Value, path); note != "" {
		fmt.Fprintf(w, "  here\t%s\n", note)
	}
	fmt.Fprintf(w, "\n  %s\n", k.Doc)
	return w.Flush()
}

// note tells of the variable that a secret is in.
func (b *book) note(value any, path []string) string {
	name, _ := value.(string)
	if path[0] != "secrets" || path[len(path)-1] != "env" || name == "" {
		return ""
	}
	if text, _ := b.getenv(name); text == "" {
		return name + " has no value"
	}
	return name + " has a value"
}

// explainAll lists all keys, those of agents and the like under each name that the file has.
func (h Host) explainAll(b *book) error {
	var list []explained
	for _, k := range outside() {
		list = append(list, explained{runtime.Schema, b.outer(k), k.Takes, k.Default, k.Doc})
	}
	for _, k := range project.Keys() {
		named := b.named(k)
		if len(named) == 0 {
			named = [][]string{strings.Split(k.Path, ".")}
		}
		for _, path := range named {
			list = append(list, explained{runtime.Schema, b.one(k, path), k.Takes, k.Default, k.Doc})
		}
	}
	return h.listExplained(list)
}

// explainTable lists what may stand in a table.
func (h Host) explainTable(b *book, path []string) error {
	var list []explained
	for _, k := range project.Keys() {
		full, ok := inTable(k, path)
		if !ok {
			continue
		}
		list = append(list, explained{runtime.Schema, b.one(k, full), k.Takes, k.Default, k.Doc})
	}
	return h.listExplained(list)
}

func (h Host) listExplained(list []explained) error {
	if wanted, err := h.Answer(struct {
		Schema string      `json:"schema"`
		Keys   []explained `json:"keys"`
	}{runtime.Schema, list}); wanted || err != nil {
		return err
	}
	rows := table.New(h.Paper(), "KEY", "VALUE", "FROM", "TAKES", "MEANING")
	for _, e := range list {
		text := ""
		if e.Value.Value != nil {
			text = e.text()
		}
		rows.Row(e.Key, text, e.Source.String(), e.Takes, e.Doc)
	}
	return rows.Write(h.Out)
}

// inTable is the path of a key in a table, whose further names stand as the key has them.
func inTable(k project.Key, table []string) ([]string, bool) {
	parts := strings.Split(k.Path, ".")
	if len(parts) <= len(table) {
		return nil, false
	}
	for i, part := range table {
		if parts[i] != part && parts[i] != strings.ToUpper(parts[i]) {
			return nil, false
		}
		parts[i] = part
	}
	return parts, true
}

// set writes values into the file, all of them or none.
func (h Host) set(p *place.Place, args []string) error {
	if p.Project == "" {
		return runtime.Refuse(runtime.ErrUsage, "starling init makes one", "config: there is no %s here or above", place.ProjectFile)
	}
	pairs, err := pairsOf(args)
	if err != nil {
		return err
	}
	var text []byte
	err = sources.Edit(p.Project, func(before []byte) (_ []byte, err error) {
		text, err = h.changed(p, before, pairs)
		return text, err
	})
	if err != nil {
		return err
	}
	return h.told(text, pairs)
}

// changed is the text of the file with the values set.
func (h Host) changed(p *place.Place, text []byte, pairs [][2]string) ([]byte, error) {
	b := &book{place: p, getenv: h.Getenv}
	for i, pair := range pairs {
		_, path, isTable, err := b.find(pair[0])
		switch {
		case err != nil:
			return nil, err
		case isTable:
			return nil, runtime.Refusef(runtime.ErrUsage, "config: %s is a table; name one of its keys", pair[0])
		case len(path) == 1 && isOutside(path[0]):
			return nil, runtime.Refuse(runtime.ErrUsage, "starling config explain "+path[0]+" says where from", "config: %s is not set in %s", path[0], place.ProjectFile)
		}
		if text, err = setOne(text, path, pair[1], i == len(pairs)-1); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func isOutside(name string) bool {
	return slices.ContainsFunc(outside(), func(k project.Key) bool { return k.Path == name })
}

// told prints what has been set, and where it stands now.
func (h Host) told(text []byte, pairs [][2]string) error {
	settings, err := project.Settings(text)
	if err != nil {
		return err
	}
	b := &book{settings: settings, text: text}
	var values []Value
	for _, pair := range pairs {
		k, path, _ := project.FindKey(pair[0])
		if inner := b.below(path); len(inner) > 0 {
			values = append(values, inner...)
			continue
		}
		values = append(values, b.one(k, path))
	}
	if wanted, err := h.Answer(document{runtime.Schema, values}); wanted || err != nil {
		return err
	}
	for _, v := range values {
		fmt.Fprintf(h.Out, "%s: %s = %s\n", v.Source, v.Key, literal(v.Value))
	}
	return nil
}

// pairsOf are keys with their values: two operands, or any number with = in them.
func pairsOf(args []string) (pairs [][2]string, err error) {
	if len(args) == 2 && !strings.Contains(args[0], "=") {
		return [][2]string{{args[0], args[1]}}, nil
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, runtime.Refuse(runtime.ErrUsage, "starling config set KEY VALUE, or KEY=VALUE for each of several", "config set: got %q, want KEY=VALUE", arg)
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs, nil
}

// setOne sets one key. Which of the ways to read the value is meant is the one that the file is
// right with, else the one with which least is wrong; what is set before the last one need not be
// whole yet.
func setOne(text []byte, path []string, value string, last bool) (set []byte, wrong error) {
	least := math.MaxInt
	for _, way := range ways(value) {
		changed, err := project.Set(text, path, way)
		if err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "config: %v", err)
		}
		_, err = project.Parse(place.ProjectFile, changed)
		var list diagnostic.List
		if errors.As(err, &list); err == nil || !last && !speaksOf(err, path) {
			return changed, nil
		}
		if len(list) < least {
			least, wrong = len(list), err
		}
	}
	return nil, wrong
}

// speaksOf tells whether an error is about a key.
func speaksOf(err error, path []string) bool {
	return strings.Contains(err.Error(), strings.Join(path, "."))
}

// ways are how a value may be meant, in TOML: as it is, as a text, as a list.
func ways(value string) (list []string) {
	if toml.Unmarshal([]byte("x = "+value), new(map[string]any)) == nil && !strings.ContainsAny(value, "\n\r") {
		list = append(list, value)
	}
	list = append(list, literal(value))
	var parts []any
	for part := range strings.SplitSeq(value, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = literal(part)
	}
	return append(list, "["+strings.Join(quoted, ", ")+"]")
}

// words are the texts that a key takes.
var words = regexp.MustCompile(`"([^"]+)"`)

// complete offers keys: those of the file, and of those that there may be such whose names are
// known; then what a key takes.
func (h Host) complete(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	p, err := h.Place(cmd.Context())
	if err != nil {
		return nil, none
	}
	b, err := read(p, h.Flags(), h.Getenv)
	if err != nil {
		b = &book{place: p}
	}
	switch {
	case len(args) == 0:
		return b.keys(cmd.Name() != "set"), none
	case cmd.Name() == "set" && len(args) == 1:
		k, _, err := project.FindKey(args[0])
		if err != nil {
			return nil, none
		}
		if strings.Contains(k.Takes, "true or false") || strings.HasPrefix(k.Takes, "bool") {
			return []string{"true", "false"}, none
		}
		var list []cobra.Completion
		for _, m := range words.FindAllStringSubmatch(k.Takes, -1) {
			list = append(list, m[1])
		}
		return list, none
	}
	return nil, none
}

// keys are the keys with the names that the file has for them, such as those of its agents.
func (b *book) keys(others bool) (list []cobra.Completion) {
	if others {
		for _, k := range outside() {
			list = append(list, cobra.CompletionWithDesc(k.Path, k.Doc))
		}
	}
	for _, k := range project.Keys() {
		for _, path := range b.named(k) {
			list = append(list, cobra.CompletionWithDesc(project.Dotted(path), k.Doc))
		}
	}
	return list
}

// named are the paths of a key: itself, or one for each name that the file has in place of NAME.
func (b *book) named(k project.Key) (paths [][]string) {
	parts := strings.Split(k.Path, ".")
	names := slices.IndexFunc(parts, func(p string) bool { return p == strings.ToUpper(p) })
	if names < 0 {
		return [][]string{parts}
	}
	var known []string
	for _, s := range b.settings {
		if len(s.Path) > names && slices.Equal(s.Path[:names], parts[:names]) && !slices.Contains(known, s.Path[names]) {
			known = append(known, s.Path[names])
			full := slices.Clone(parts)
			full[names] = s.Path[names]
			paths = append(paths, full)
		}
	}
	return paths
}
