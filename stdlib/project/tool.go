package project

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/lang/diagnostic"
)

// Tool is one [tools.NAME]: a server of tools that speaks the Model Context Protocol. It has a
// command or an address.
type Tool struct {
	Name        string
	Command     []string    // program and arguments
	URL         string      // of a server that is reached over HTTP
	Env         []string    // names of variables that the program is given, each once
	Secrets     []SecretUse // what it is given of the project's secrets
	Allow       []string    // patterns of the tools that anybody may use; nil is all
	Timeout     time.Duration
	MaxBytes    int64  // of one result; 0 is the default
	Definitions string // hash that the definitions of its tools must have, "" for any
}

// SecretUse is a variable of a program, or a header of requests, that holds secrets.
type SecretUse struct {
	Key  string
	Text string // in which {NAME} stands for the secret
}

// Tool finds a tool server by name.
func (f *File) Tool(name string) (Tool, bool) {
	i := slices.IndexFunc(f.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return f.Tools[i], true
}

// ToolNames lists the tool servers in the order of the file.
func (f *File) ToolNames() []string {
	names := make([]string, len(f.Tools))
	for i, t := range f.Tools {
		names[i] = t.Name
	}
	return names
}

// Placeholder finds the secrets in the text of a SecretUse.
var Placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([A-Za-z0-9][A-Za-z0-9._-]*)\}`) })

// toolName leaves the dot out: it parts the server from its tool.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

// headerName is a token of HTTP.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// isHash tells whether a text is what `starling tools ls` shows of definitions.
func isHash(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// CheckToolName tells whether a tool server may have this name.
func CheckToolName(name string) error {
	if !toolName().MatchString(name) || len(name) > 64 {
		return fmt.Errorf("got the name %q, want letters, digits, '_' and '-', beginning with a letter or a digit, at most 64", name)
	}
	return nil
}

func (r *reader) tool(name string, t table) Tool {
	if err := CheckToolName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "command", "url", "env", "secrets", "allow", "timeout", "max_bytes", "definitions")
	s := Tool{
		Name:     name,
		Command:  r.strings(t, "command"),
		URL:      r.url(t),
		Env:      r.variables(t),
		Allow:    r.strings(t, "allow"),
		Timeout:  r.duration(t, "timeout"),
		MaxBytes: r.bound(t, "max_bytes", 1),
	}
	_, command := t.values["command"]
	_, url := t.values["url"]
	_, env := t.values["env"]
	switch {
	case command == url:
		r.complain(t.path, diagnostic.Diagnostic{Message: "a tool server has a command or a url",
			Hint: `write command = ["program", "argument"], or url = "https://example.org/mcp"`})
	case command && (len(s.Command) == 0 || s.Command[0] == ""):
		r.refuse(t.at("command"), "no program", "a program and its arguments", "")
	case url && env:
		r.complain(t.at("env"), diagnostic.Diagnostic{Message: "a server that is reached over HTTP has no variables", Hint: "write secrets = {Authorization = \"Bearer {NAME}\"}"})
	}
	s.Secrets = r.secretUses(t, url)
	r.checkAllow(t, s.Allow)
	if s.Definitions, _ = r.string(t, "definitions"); s.Definitions != "" && !isHash(s.Definitions) {
		r.refuse(t.at("definitions"), fmt.Sprintf("%q", s.Definitions), "the hash that `starling tools ls` shows", "")
	}
	return s
}

// secretUses reads secrets = {KEY = "text with {NAME}"}.
func (r *reader) secretUses(t table, header bool) []SecretUse {
	secrets, ok := r.table(t, "secrets")
	if !ok {
		return nil
	}
	valid, want := variableName, "the name of an environment variable"
	if header {
		valid, want = headerName, "the name of a header"
	}
	var uses []SecretUse
	for _, key := range r.inOrder(secrets) {
		text, isText := r.string(secrets, key)
		switch {
		case !valid().MatchString(key) || !header && strings.HasPrefix(key, "STARLING_"):
			r.refuse(secrets.at(key), fmt.Sprintf("%q", key), want, "")
		case isText && !Placeholder().MatchString(text):
			r.refuse(secrets.at(key), "a text without a secret", "a text in which {NAME} stands for the secret of that name", "values of secrets have no place in the file")
		}
		uses = append(uses, SecretUse{key, text})
	}
	return uses
}

func (r *reader) checkAllow(t table, patterns []string) {
	for i, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			r.refuse(t.element("allow", i), fmt.Sprintf("%q", p), `the name of a tool, or a pattern such as "get_*"`, "")
		}
	}
}

// checkUses checks that the secrets which tool servers are given are declared.
func (r *reader) checkUses(f *File, tools table) {
	for _, s := range f.Tools {
		own := table{path: append(tools.at(s.Name), "secrets")}
		for _, use := range s.Secrets {
			r.checkUse(f, own.at(use.Key), use.Text)
		}
	}
}

// checkGrantedTools checks that grants name tool servers of this file.
func (r *reader) checkGrantedTools(f *File, grants table) {
	for _, g := range f.Grants {
		own := table{path: grants.at(g.Script)}
		for i, use := range g.Tools {
			server, _, _ := strings.Cut(use, ".")
			if _, ok := f.Tool(server); !ok {
				r.refuse(own.element("tools", i), fmt.Sprintf("%q", use), "a tool server of this file, or SERVER.TOOL", diagnostic.Meant(server, f.ToolNames()))
			}
		}
	}
}
