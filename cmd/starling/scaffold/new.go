package scaffold

import (
	"cmp"
	"context"
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
		Use:     "new [NAME] [--from EXAMPLE]",
		Short:   "Write a script with its tests, a small one or one of the gallery",
		GroupID: "scripts",
		Long: `Write a script with its tests under a name of your own: NAME.star and NAME_test.star, where NAME may be below a folder. It is an example of the gallery, or
without one a small script with an agent and a gate; on a terminal you are asked which. Its agents are played by functions of the file of tests, so that it runs and
is tested as it is. Nothing that is there is written over.

Without NAME, or with --list, the examples are listed.`,
		Example: "  starling new\n  starling new tickets --from issue_triage\n  starling new answers",
		Args:    args,
		RunE:    func(cmd *cobra.Command, operands []string) error { return v.new(cmd.Context(), operands) },
	}
	cmd.Flags().StringVar(&v.from, "from", "", "the `EXAMPLE`")
	cmd.Flags().BoolVar(&v.list, "list", false, "list the examples")
	return cmd
}

func (v *newVerb) new(ctx context.Context, operands []string) error {
	examples, err := gallery.Examples()
	if err != nil {
		return err
	}
	switch {
	case v.list && (len(operands) > 0 || v.from != ""):
		return runtime.Refusef(runtime.ErrUsage, "new: --list takes neither a name nor --from")
	case v.list || len(operands) == 0 && v.from == "":
		return v.print(examples)
	case len(operands) == 0:
		return runtime.Refuse(runtime.ErrUsage, v.Command("new", "NAME", "--from", v.from), "new: got no name")
	case v.from == "" && v.Ask != nil:
		return v.ask(ctx, operands[0], examples)
	case v.from == "":
		return v.small(operands[0])
	}
	e, err := v.find(v.from, examples)
	if err != nil {
		return err
	}
	return v.write(operands[0], e)
}

// find is the example of a name.
func (v *newVerb) find(name string, examples []gallery.Example) (gallery.Example, error) {
	var names []string
	for _, e := range examples {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	help := cmp.Or(diagnostic.Meant(name, names), v.Command("new", "--list")+" lists the examples")
	return gallery.Example{}, runtime.Refuse(runtime.ErrUnknownName, help, "new: there is no example %q", name)
}

// ask has a person choose an example.
func (v *newVerb) ask(ctx context.Context, operand string, examples []gallery.Example) error {
	if err := v.print(examples); err != nil {
		return err
	}
	for {
		said, err := v.Ask(ctx, "\nWhich of them (an empty line: a small script with an agent and a gate): ")
		if err != nil {
			return err
		}
		if said = strings.TrimSpace(said); said == "" {
			return v.small(operand)
		}
		e, err := v.find(said, examples)
		if err == nil {
			return v.write(operand, e)
		}
		v.say("%v\nhelp: %s", err, runtime.AsRefusal(err).Help)
	}
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

// small writes the script that a project begins with.
func (v *newVerb) small(operand string) error {
	script, err := template.ReadFile("template/script.star")
	if err != nil {
		return err
	}
	tests, err := template.ReadFile("template/tests.star")
	if err != nil {
		return err
	}
	return v.write(operand, gallery.Example{Name: "NAME", Summary: "It sorts what users write, and drafts a reply; what the agent is not sure of, a person decides.", Script: string(script), Test: string(tests)})
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
