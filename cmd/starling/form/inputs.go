package form

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"starling/lang/contract"
)

// Inputs describes what a contract of inputs has: each with its type, its default, or that it may
// be left out. A contract that is no record has none.
func Inputs(c *contract.Contract) string {
	fields, _ := c.Fields()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, f := range fields {
		note := ""
		switch {
		case f.Default != nil:
			note = "default " + brief(f.Default)
		case f.Optional || !f.Required:
			note = "may be left out"
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s\t%s\t%s", f.Name, f.Type, note), "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

// Missing asks for the fields of a record that no flag, NAME=TEXT or NAME:=JSON, has given and that
// cannot be left out, and gives flags for them.
func (f *Form) Missing(ctx context.Context, c *contract.Contract, flags []string) (found []string, err error) {
	for _, field := range (&entry{contract: c}).fields() {
		given := slices.ContainsFunc(flags, func(flag string) bool {
			name, _, _ := strings.Cut(flag, "=")
			return strings.TrimSuffix(name, ":") == field.name
		})
		if given || field.omissible() {
			continue
		}
		v, _, err := f.fill(ctx, field, nil)
		if err != nil {
			return nil, err
		}
		text, err := contract.ToJSON(v)
		if err != nil {
			return nil, err
		}
		found = append(found, field.name+":="+string(text))
	}
	return found, nil
}
