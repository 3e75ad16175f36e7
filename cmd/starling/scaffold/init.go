package scaffold

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"starling/runtime"
)

//go:embed template
var template embed.FS

// initVerb is a call of init.
type initVerb struct {
	Host

	name, agent, ci string
	yes             bool
	given           func(flag string) bool
}

// Init is the verb init.
func Init(h Host, args cobra.PositionalArgs) *cobra.Command {
	v := &initVerb{Host: h}
	cmd := &cobra.Command{
		Use:     "init [FOLDER]",
		Short:   "Begin a project that runs at once",
		GroupID: "scripts",
		Long: `Begin a project in FOLDER, by default the current one: a script with its tests, starling.toml, a file for CI, and settings of editors. It runs at once, for its agents
are played by functions of the tests until starling.toml names real ones.

On a terminal three questions are asked, unless flags answer them. What is there is never written over: it stays as it is, and is named.`,
		Example: "  starling init\n  starling init support --name tickets --agent claude --ci github",
		Args:    args,
		RunE: func(cmd *cobra.Command, operands []string) error {
			v.given = func(flag string) bool { return cmd.Flags().Changed(flag) }
			return v.init(cmd.Context(), append(operands, ".")[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.name, "name", "triage", "`NAME` of the script")
	f.StringVar(&v.agent, "agent", "none", "`WHO` plays its agent: "+strings.Join(agents(), ", ")+"; none is the function of the tests")
	f.StringVar(&v.ci, "ci", "github", "`WHAT` checks and tests it: "+strings.Join(services(), ", "))
	f.BoolVarP(&v.yes, "yes", "y", false, "ask nothing")
	return cmd
}

func agents() []string   { return []string{"none", "claude", "codex", "gemini", "anthropic", "openai"} }
func services() []string { return []string{"github", "gitlab", "none"} }

// question is one that a flag answers as well.
type question struct {
	flag, text string
	value      *string
	check      func(string) error
}

func (v *initVerb) questions() []question {
	return []question{
		{"name", "Name of the script", &v.name, func(s string) error { _, err := checkName("--name", s); return err }},
		{"agent", "Who plays its agent (" + strings.Join(agents(), ", ") + ")", &v.agent, func(s string) error { return oneOf("--agent", s, agents()) }},
		{"ci", "What checks it (" + strings.Join(services(), ", ") + ")", &v.ci, func(s string) error { return oneOf("--ci", s, services()) }},
	}
}

// answers has all questions answered, at a terminal by a person.
func (v *initVerb) answers(ctx context.Context) error {
	for _, q := range v.questions() {
		for v.Ask != nil && !v.yes && !v.given(q.flag) {
			said, err := v.Ask(ctx, fmt.Sprintf("%s [%s]: ", q.text, *q.value))
			if err != nil {
				return err
			}
			said = cmp.Or(strings.TrimSpace(said), *q.value)
			if wrong := q.check(said); wrong != nil {
				v.say("%v", wrong)
				if r := runtime.AsRefusal(wrong); r.Help != "" {
					v.say("help: %s", r.Help)
				}
				continue
			}
			*q.value = said
			break
		}
		if err := q.check(*q.value); err != nil {
			return err
		}
	}
	v.name = strings.TrimSuffix(v.name, runtime.ScriptSuffix)
	return nil
}

func (v *initVerb) init(ctx context.Context, folder string) error {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return runtime.Refusef(runtime.ErrUsage, "init: %s is not a folder", folder)
	}
	if err := v.answers(ctx); err != nil {
		return err
	}
	files, err := v.files()
	if err != nil {
		return err
	}
	if err := v.half(folder, files[:2]); err != nil {
		return err
	}
	d, err := place(folder, files)
	if err != nil {
		return err
	}
	d.Script = filepath.Join(folder, files[0].name)
	if wanted, err := v.Answer(d); wanted || err != nil {
		return err
	}
	v.report(folder, d)
	return nil
}

// half refuses a script that is there without its tests, or the reverse: what init would write is
// not for it.
func (v *initVerb) half(folder string, files []file) error {
	there := 0
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(folder, f.name)); err == nil {
			there++
		}
	}
	if there == 1 {
		return pair(folder, files[0], files[1])
	}
	return nil
}

// files are those of the project, the script and its tests first.
func (v *initVerb) files() ([]file, error) {
	list := []file{{v.name + ".star", "script.star"}, {v.name + "_test.star", "tests.star"}, {".editorconfig", "editorconfig"}, {".vscode/settings.json", "vscode.json"}}
	switch v.ci {
	case "github":
		list = append(list, file{".github/workflows/starling.yml", "github.yml"})
	case "gitlab":
		list = append(list, file{".gitlab-ci.yml", "gitlab.yml"})
	}
	for i, f := range list {
		text, err := template.ReadFile("template/" + f.text)
		if err != nil {
			return nil, err
		}
		list[i].text = strings.ReplaceAll(string(text), "NAME", v.name)
	}
	return append(list, file{"starling.toml", v.project()}, file{".gitignore", ".starling/\n"}), nil
}

// project is the text of starling.toml.
func (v *initVerb) project() string {
	head := "# The agents of this project, and what its scripts may do. All keys: starling doc starling.toml\n\n"
	switch v.agent {
	case "none":
		return head + fmt.Sprintf(`# Until an agent is named below, functions of this file play them.
fake = "%s_test.star"

# [agents.triager]
# preset = "claude"                # or "codex", "gemini"; or command = ["./triager.py"]
`, v.name)
	case "anthropic", "openai":
		model, key := "claude-opus-4-5", "ANTHROPIC_API_KEY"
		if v.agent == "openai" {
			model, key = "gpt-5", "OPENAI_API_KEY"
		}
		return head + fmt.Sprintf("# The key is in the variable %s.\n[agents.triager]\nbackend = %q\nmodel = %q\n", key, v.agent, model)
	}
	return head + fmt.Sprintf("# The program %s, logged in as you are.\n[agents.triager]\npreset = %q\n", v.agent, v.agent)
}

// report says what there is, and what to do next.
func (v *initVerb) report(folder string, d document) {
	for _, name := range d.Wrote {
		v.say("wrote %s", filepath.Join(folder, name))
	}
	for _, name := range d.Kept {
		v.say("kept  %s, which was there", filepath.Join(folder, name))
		if name == ".gitignore" && !ignored(filepath.Join(folder, name)) {
			v.say("      add .starling/ to it: what runs have done is no source")
		}
	}
	script := v.name + runtime.ScriptSuffix
	run := []string{"run", script, "-i", "text=it is slow"}
	if v.agent != "none" || slices.Contains(d.Kept, "starling.toml") {
		run = append(run, "--fake", v.name+"_test.star")
	}
	v.say("\ntry it:")
	if filepath.Clean(folder) != "." {
		v.say("  cd %s", folder)
	}
	v.say("  %s\n  %s\n  %s", v.Command("check"), v.Command("test"), v.Command(run...))
}

// ignored tells whether a .gitignore has the folder of stores.
func ignored(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(text), ".starling")
}
