// Package manual lays out what is known of the names of the language, for people.
package manual

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/stdlib/project"
)

// Page is what there is to say of something that is no name of the language, as a whole: of
// starling.toml, or of the language of contracts. Where a terminal of so many columns is too narrow
// for the table of keys, each key is a paragraph; 0 is no terminal.
func Page(name string, width int) (text string, ok bool) {
	switch name {
	case "starling.toml":
		if table := project.Reference(); width == 0 || widest(table) <= width {
			return table, true
		}
		return keys(), true
	case "contracts":
		return contract.Page, true
	}
	return "", false
}

func widest(text string) (most int) {
	for line := range strings.SplitSeq(text, "\n") {
		most = max(most, utf8.RuneCountInString(line))
	}
	return most
}

// keys are an example of a project file, and every key with what it takes and means.
func keys() string {
	example, _, _ := strings.Cut(project.Reference(), "\n\n")
	b := strings.Builder{}
	b.WriteString("```toml\n" + example + "\n```\n\nThese are all the keys; any other is an error.\n")
	for _, k := range project.Keys() {
		fmt.Fprintf(&b, "\n  %s\n      takes    %s\n      default  %s\n      %s\n", k.Path, k.Takes, k.Default, k.Doc)
	}
	return b.String()
}

// Entry writes the page of one name. All but its example, which is copied, goes through fit.
func Entry(to io.Writer, fit func(page string) string, e doc.Entry) {
	out := &strings.Builder{}
	head := cmp.Or(e.Signature, e.Kind+" "+e.Name)
	if e.Class != "" {
		head += "    " + e.Kind + ", " + e.Class
	}
	fmt.Fprintln(out, head)
	if text := strings.TrimSpace(e.Summary + " " + e.Text); text != "" {
		fmt.Fprintln(out)
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintln(out, strings.TrimRight("  "+line, " "))
		}
	}
	if slices.ContainsFunc(e.Params, func(p doc.Param) bool { return p.Doc != "" }) {
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		for _, p := range e.Params {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", p.Name, taken(p), p.Doc)
		}
		w.Flush()
	}
	io.WriteString(to, fit(out.String()))
	if e.Example != "" {
		fmt.Fprintln(to)
		for line := range strings.Lines(e.Example) {
			fmt.Fprintf(to, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// taken is what a parameter takes.
func taken(p doc.Param) string {
	if len(p.OneOf) > 0 {
		return strings.Join(p.OneOf, "|")
	}
	return p.Type
}

// List writes every name with its first sentence, by kind.
func List(out io.Writer, fit func(page string) string, entries []doc.Entry) {
	for i, kind := range doc.Kinds() {
		var rows []doc.Entry
		for _, e := range entries {
			if e.Kind == kind {
				rows = append(rows, e)
			}
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, kind)
		Rows(out, fit, rows)
	}
}

// Rows writes names with their first sentences.
func Rows(to io.Writer, fit func(page string) string, rows []doc.Entry) {
	out := &strings.Builder{}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, e := range rows {
		fmt.Fprintf(w, "  %s\t%s\n", e.Name, e.Summary)
	}
	w.Flush()
	io.WriteString(to, fit(out.String()))
}

// Findings are the rules that a kind of finding names, all of them for "all", none where there is
// no such kind; then help says what was perhaps meant.
func Findings(kind string) (rules []check.Rule, help string) {
	if kind == "all" {
		return check.Rules(), ""
	}
	var kinds []string
	for _, r := range check.Rules() {
		if r.Kind == kind {
			return []check.Rule{r}, ""
		}
		kinds = append(kinds, r.Kind)
	}
	return nil, cmp.Or(diagnostic.Meant(kind, kinds), "starling check --explain all lists them")
}

// Explain writes what rules say: of one all, of several the kinds with their sentences.
func Explain(out io.Writer, rules []check.Rule) {
	if len(rules) == 1 {
		fmt.Fprintf(out, "%s\n\n%s", rules[0].Kind, rules[0].Page())
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range rules {
		fmt.Fprintf(w, "%s\t%s\n", r.Kind, r.Doc)
	}
	w.Flush()
}
