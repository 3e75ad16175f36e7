package form

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"go.starlark.net/starlark"

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

// Missing asks for the fields of a record that nobody has given and that cannot be left out. It
// gives them with their names.
func (f *Form) Missing(ctx context.Context, c *contract.Contract, given []string) (map[string]starlark.Value, error) {
	found := map[string]starlark.Value{}
	for _, field := range (&entry{contract: c}).fields() {
		if field.omissible() || slices.Contains(given, field.name) {
			continue
		}
		v, _, err := f.fill(ctx, field, nil)
		if err != nil {
			return nil, err
		}
		found[field.name] = v
	}
	return found, nil
}
