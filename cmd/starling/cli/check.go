package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/manual"
	"starling/cmd/starling/mend"
	"starling/cmd/starling/place"
	"starling/cmd/starling/sources"
	"starling/cmd/starling/table"
	"starling/cmd/starling/verdict"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/filter"
	"starling/stdlib/agent"
	"starling/stdlib/project"
)

// The forms in which check can answer.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatSARIF = "sarif"
)

// checkVerb is a call of the verb check.
type checkVerb struct {
	call *call

	fix, diff bool
}

// checkCommand is the verb check. It needs no store and touches none.
func checkCommand(c *call) *cobra.Command {
	v := &checkVerb{call: c}
	var format, fake, explain string
	var types bool
	cmd := &cobra.Command{
		Use:     "check [SCRIPT|FOLDER|PROJECT.toml...]",
		Short:   "Say what can be said of scripts without running them",
		GroupID: "scripts",
		Long: `Say what can be said of scripts without running them. Of a folder every .star file in it is a script, save those below a folder whose name
begins with a dot; without an operand it is the current folder. A file that ends with .toml is a project file. Agents are looked for in starling.toml and its fake, or in --fake. What a comment says is meant is left out: # check: ignore KIND
because REASON, on the line or above it. --fix writes what is certain: a name, key, option or keyword that was hardly misspelled otherwise, a lambda in
front of a call that comes too early, what is loaded and never used, and the like. It writes only what makes a file better, and keeps comments.`,
		Args: operands(0, -1),
		RunE: func(_ *cobra.Command, operands []string) error {
			if explain != "" {
				return v.explain(explain)
			}
			v.call.heap.AllowMuch()
			if len(operands) == 0 {
				operands = []string{"."}
			}
			if types {
				return v.types(operands[0], fake)
			}
			if c.json {
				format = formatJSON
			}
			return v.check(operands, format, fake)
		},
	}
	cmd.Flags().StringVar(&format, "format", formatText, "print `FORM`: text, json or sarif")
	cmd.Flags().StringVar(&fake, "fake", "", "agents are the functions of this script, `FILE`")
	cmd.Flags().BoolVar(&types, "types", false, "print the script with what is inferred of its names")
	cmd.Flags().StringVar(&explain, "explain", "", "say what a `KIND` of finding means, with an example, or list them all with --explain all")
	cmd.Flags().BoolVar(&v.fix, "fix", false, "write what is certain, and print what is left")
	cmd.Flags().BoolVar(&v.diff, "diff", false, "print what --fix would write, and what would be left")
	c.jsonFlag(cmd)
	return cmd
}

// explain prints what a kind of finding means.
func (v *checkVerb) explain(kind string) error {
	rules, help := manual.Findings(kind)
	if rules == nil {
		return usage(help, "check: --explain: there is no finding %q", kind)
	}
	if v.call.json {
		return v.call.answerJSON(rules)
	}
	manual.Explain(v.call.stdout, rules)
	return nil
}

// types prints a script with what is inferred of its names.
func (v *checkVerb) types(script, fake string) error {
	agents, err := v.agents(fake)
	if err != nil {
		return err
	}
	bundle, err := v.call.readBundle(script)
	if err != nil {
		return err
	}
	text, err := lang.Types(bundle, v.call.environmentOf(script), agents)
	fmt.Fprint(v.call.stdout, text)
	return err
}

// checkDocument is what check prints.
type checkDocument struct {
	Schema      string           `json:"schema"`
	Diagnostics diagnostic.List  `json:"diagnostics"`
	Error       *runtime.Refusal `json:"error"` // null if no diagnostic is an error
}

// check finds what is wrong with each script. The findings are the result, so they go to standard
// output even where they are errors.
func (v *checkVerb) check(operands []string, format, fake string) error {
	if format != formatText && format != formatJSON && format != formatSARIF {
		return usage(diagnostic.Meant(format, []string{formatText, formatJSON, formatSARIF}), "check: --format: got %q, want text, json or sarif", format)
	}
	v.call.json = v.call.json || format == formatJSON
	agents, err := v.agents(fake)
	found := append(diagnostic.List{}, verdict.Diagnostics(err)...) // of the project file and its fake; then the agents are not known
	if err != nil && len(found) == 0 {
		return err
	}
	said, err := v.said(operands, agents, fake)
	if err != nil && len(found) == 0 { // a folder may have nothing but a project file that is wrong
		return err
	}
	known := map[diagnostic.Diagnostic]bool{}
	for _, d := range found {
		known[d] = true
	}
	for _, s := range said { // files that several scripts load are checked with each
		for _, d := range s.List {
			if !known[d] {
				known[d], found = true, append(found, d)
			}
		}
	}
	return v.answerCheck(found, format)
}

// agents is what is known of the agents that scripts can ask, nothing if there is neither a project
// file nor a fake.
func (v *checkVerb) agents(fake string) (check.Project, error) {
	settings, err := v.call.settings(v.call.place.Project, fake)
	if err != nil {
		return check.Project{}, err
	}
	return agent.Known(agent.Machines(v.call.env()), settings)
}

// answerCheck prints what was found and sets the exit code.
func (v *checkVerb) answerCheck(found diagnostic.List, format string) error {
	var refused *runtime.Refusal
	if errs := countErrors(found); errs > 0 {
		v.call.code = runtime.ErrCheckFailed.ExitCode()
		refused = runtime.Refusef(runtime.ErrCheckFailed, "%s, %s", table.Counted(errs, "error"), table.Counted(len(found)-errs, "warning"))
	}
	switch format {
	case formatJSON:
		return v.call.answerJSON(checkDocument{runtime.Schema, found, refused})
	case formatSARIF:
		return v.call.answerJSON(check.SARIF(found))
	}
	fmt.Fprint(v.call.stdout, check.Render(found...))
	if refused != nil {
		v.call.notice("error: %s", refused.Message)
	}
	return nil
}

// said is what is wrong with each script of the operands, when what is certain is mended if that is
// asked for.
func (v *checkVerb) said(operands []string, agents check.Project, fake string) (list []mend.Said, err error) {
	var scripts []string
	for _, operand := range operands {
		some, err := sources.Scripts(operand)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, some...)
	}
	all := func(texts mend.Texts) (said []mend.Said, err error) {
		v.call.mended = texts
		for _, script := range scripts {
			list, err := v.checkOne(script, agents, fake)
			if err != nil {
				return nil, err
			}
			path, err := filepath.Abs(script)
			if err != nil {
				return nil, err
			}
			said = append(said, mend.Said{Folder: v.call.rootOf(path), List: list})
		}
		return said, nil
	}
	if !v.fix && !v.diff {
		return all(nil)
	}
	texts, list, err := mend.Scripts(all)
	if err == nil && v.diff {
		err = texts.Diff(v.call.stdout, v.call.place.Work)
	} else if err == nil {
		err = texts.Write(v.call.place.Work, v.call.notice)
	}
	return list, err
}

// checkOne checks one script, or a project file. What cannot even be read is a finding too.
func (v *checkVerb) checkOne(script string, agents check.Project, fake string) (diagnostic.List, error) {
	if strings.HasSuffix(script, ".toml") {
		return v.checkProject(filepath.Clean(script), fake)
	}
	bundle, err := v.call.readBundle(script)
	var list diagnostic.List
	if errors.As(err, &list) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	return append(lang.Check(bundle, v.call.environmentOf(script), agents), v.call.further.Check(v.call.place, bundle, v.call.env())...), nil
}

// checkProject checks a project file, whatever its name is.
func (v *checkVerb) checkProject(file, fake string) (diagnostic.List, error) {
	settings, err := v.call.settings(file, fake)
	if err == nil {
		_, err = project.Check(place.ProjectFile, settings.Project, filter.Check)
	}
	if err == nil {
		_, err = agent.Known(agent.Machines(v.call.env()), settings)
	}
	list := verdict.Diagnostics(err)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	for i := range list {
		if list[i].File == place.ProjectFile {
			list[i].File = file
		}
	}
	return list, nil
}

func countErrors(list diagnostic.List) int {
	n := 0
	for _, d := range list {
		if d.Severity == diagnostic.Error {
			n++
		}
	}
	return n
}
