package project

import (
	"fmt"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// secret reads one [secrets.NAME]. The value itself has no place in a project file.
func (r *reader) secret(name string, t table) Secret {
	if err := effect.CheckName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "env", "file", "command")
	if len(t.values) != 1 {
		r.complain(t.path, diagnostic.Diagnostic{Message: fmt.Sprintf("this secret has %d sources, want one", len(t.values)),
			Hint: `write env = "NAME", file = "path", or command = ["program", "argument"]`})
	}
	s := Secret{Name: name, Command: r.strings(t, "command")}
	s.Env, _ = r.string(t, "env")
	s.File, _ = r.string(t, "file")
	r.checkSource(t, s)
	return s
}

func (r *reader) checkSource(t table, s Secret) {
	_, env := t.values["env"].(string)
	_, file := t.values["file"].(string)
	_, command := t.values["command"].([]any)
	switch {
	case env && !variableName().MatchString(s.Env):
		r.refuse(t.at("env"), fmt.Sprintf("%q", s.Env), "the name of an environment variable, without its value", "")
	case file && s.File == "":
		r.refuse(t.at("file"), `""`, "the path of a file", "")
	case command && (len(s.Command) == 0 || s.Command[0] == ""):
		r.refuse(t.at("command"), "no program", "a program and its arguments", "")
	}
}

// checkUse checks that the secrets are declared which a text at a path has placeholders for.
func (r *reader) checkUse(f *File, path []string, text string) {
	for _, m := range Placeholder().FindAllStringSubmatch(text, -1) {
		r.checkDeclared(f, path, m[1])
	}
}

func (r *reader) checkDeclared(f *File, path []string, name string) {
	if _, ok := f.Secret(name); ok {
		return
	}
	var names []string
	for _, s := range f.Secrets {
		names = append(names, s.Name)
	}
	r.refuse(path, fmt.Sprintf("the secret %q", name), "one that is declared under [secrets]", diagnostic.Meant(name, names))
}
