package scaffold

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/scripts/gallery"
)

// newVerb is a call of new.
type newVerb struct {
	Host

	from string
	list bool
}

// New is the verb new.
func New(h Host, args cobra.PositionalArgs) *cobra.Command {
	v := &newVerb{Host: h}
	cmd := &cobra.Command{
		Use:     "new NAME --from EXAMPLE",
		Short:   "Write a script of the gallery, with its tests",
		GroupID: "scripts",
		Long: `Write a script of the gallery, with its tests, under a name of your own: NAME.star and NAME_test.star, where NAME may be below a folder. Its agents are played by
functions of the file of tests, so that it runs and is tested as it is. Nothing that is there is written over.

--list says which examples there are.`,
		Example: "  starling new --list\n  starling new tickets --from issue_triage",
		Args:    args,
		RunE:    func(_ *cobra.Command, operands []string) error { return v.new(operands) },
	}
	cmd.Flags().StringVar(&v.from, "from", "", "the `EXAMPLE`")
	cmd.Flags().BoolVar(&v.list, "list", false, "list the examples")
	return cmd
}

func (v *newVerb) new(operands []string) error {
	examples, err := gallery.Examples()
	if err != nil {
		return err
	}
	switch {
	case v.list && (len(operands) > 0 || v.from != ""):
		return runtime.Refusef(runtime.ErrUsage, "new: --list takes neither a name nor --from")
	case v.list:
		return v.print(examples)
	case len(operands) == 0:
		return runtime.Refuse(runtime.ErrUsage, v.Command("new", "--list")+" lists the examples", "new: got no name, want NAME --from EXAMPLE")
	case v.from == "":
		return runtime.Refuse(runtime.ErrUsage, v.Command("new", "--list")+" lists the examples", "new: want --from EXAMPLE")
	}
	var names []string
	for _, e := range examples {
		if e.Name == v.from {
			return v.write(operands[0], e)
		}
		names = append(names, e.Name)
	}
	help := cmp.Or(diagnostic.Meant(v.from, names), v.Command("new", "--list")+" lists the examples")
	return runtime.Refuse(runtime.ErrUnknownName, help, "new: there is no example %q", v.from)
}

// print lists the examples.
func (v *newVerb) print(examples []gallery.Example) error {
	document := struct {
		Schema   string            `json:"schema"`
		Examples []gallery.Example `json:"examples"`
	}{runtime.Schema, examples}
	if wanted, err := v.Answer(document); wanted || err != nil {
		return err
	}
	w := tabwriter.NewWriter(v.Stdout, 0, 8, 2, ' ', 0)
	for _, e := range examples {
		title, _, _ := strings.Cut(e.Summary, ": ")
		fmt.Fprintf(w, "%s\t%s\n", e.Name, title)
	}
	return w.Flush()
}

// write writes an example under another name, and says how it is run.
func (v *newVerb) write(operand string, e gallery.Example) error {
	folder, base := filepath.Split(operand)
	name, err := checkName("new", base)
	if err != nil {
		return err
	}
	mine := e.As(name)
	script, tests := file{name + ".star", mine.Script}, file{name + "_test.star", mine.Test}
	if err := pair(folder, script, tests); err != nil {
		return err
	}
	d, err := place(folder, []file{script, tests})
	if err != nil {
		return err
	}
	d.Script = filepath.Join(folder, script.name)
	if wanted, err := v.Answer(d); wanted || err != nil {
		return err
	}
	for _, f := range d.Wrote {
		v.say("wrote %s", path.Join(filepath.ToSlash(folder), f))
	}
	v.say("\n%s\n\nplay its tests:\n  %s\nrun it:", e.Summary, v.Command("test", filepath.Join(folder, tests.name)))
	for _, line := range mine.Runs() {
		v.say("  %s", line)
	}
	return nil
}
