package stdlib

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// maxSecret bounds the value of a secret in bytes.
const maxSecret = 64 << 10

func secretsModule() []*effect.Builtin {
	return []*effect.Builtin{{
		FullName: "secrets.get",
		Doc: "A reference to a secret that starling.toml declares, for the headers of a request. The script never has its value: that is looked up when the request is " +
			"performed, and is in no journal. It refuses to be shown, compared and put into a text but by wrap.",
		Params: []effect.Param{{Name: "name", Type: "string", Doc: "The name under [secrets]."}},
		Result: "secret",
		Pure: func(c *effect.Call) (starlark.Value, error) {
			name := c.Text("name", "")
			if err := effect.CheckName(name); err != nil {
				return nil, wrong(c, "name", "%w", err)
			}
			return &effect.Secret{Name: name}, nil
		},
	}}
}

// usableSecrets refuses a request with a secret that the project does not declare, or that is not the script's to use.
func usableSecrets(s *effect.Settings, args effect.View) *effect.Error {
	headers, _ := args.Value("headers").(*starlark.Dict)
	if headers == nil {
		return nil
	}
	for _, v := range headers.Entries() {
		secret, ok := v.(*effect.Secret)
		if !ok {
			continue
		}
		if s.Grant != "" {
			return effect.Errorf(effect.KindDenied, "the script is not the project's own: it cannot use the secret %s", secret.Name)
		}
		if _, err := declared(s, secret.Name); err != nil {
			return effect.Errorf(effect.KindRefused, "%v", err)
		}
	}
	return nil
}

// declared is what the project says of a secret.
func declared(s *effect.Settings, name string) (project.Secret, error) {
	f := &project.File{}
	if len(s.Project) > 0 {
		parsed, err := project.Parse(s.ProjectFile, s.Project)
		if err != nil {
			return project.Secret{}, err
		}
		f = parsed
	}
	if secret, ok := f.Secret(name); ok {
		return secret, nil
	}
	var names []string
	for _, known := range f.Secrets {
		names = append(names, known.Name)
	}
	hint := diagnostic.DidYouMean(name, names)
	if hint == "" {
		hint = fmt.Sprintf("write [secrets.%s] with env, file or command there", name)
	}
	return project.Secret{}, fmt.Errorf("the secret %s is not declared in %s; %s", name, project.Name, hint)
}

// revealed looks the value of a secret up. Errors say where it was looked for, and nothing of what was found.
func revealed(ctx context.Context, a *effect.Attempt, name string) (string, error) {
	s, err := declared(a.Settings, name)
	if err != nil {
		return "", err
	}
	var value string
	switch {
	case s.Env != "":
		value, err = secretInVariable(a, s.Env)
	case s.File != "":
		value, err = secretInFile(filepath.Join(filepath.Dir(a.Settings.ProjectFile), filepath.FromSlash(s.File)), filepath.IsAbs(s.File), s.File)
	default:
		value, err = secretOfCommand(ctx, a, s.Command)
	}
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret %s: %w", name, err)
	case value == "":
		return "", fmt.Errorf("the secret %s is empty", name)
	}
	return value, nil
}

func secretInVariable(a *effect.Attempt, variable string) (string, error) {
	value, ok := a.Env(variable)
	if !ok {
		return "", fmt.Errorf("the environment variable %s has no value; set it and resume the run", variable)
	}
	return value, nil
}

func secretInFile(joined string, absolute bool, written string) (string, error) {
	if absolute {
		joined = written
	}
	f, err := os.Open(joined)
	if err != nil {
		return "", fmt.Errorf("its file %s cannot be read", written)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("its file %s cannot be read", written)
	case len(text) > maxSecret:
		return "", fmt.Errorf("its file %s has more than %d bytes", written, maxSecret)
	}
	return string(text), nil
}

// secretOfCommand runs the program under the step's guard, without input; it is found from the folder of the project file.
func secretOfCommand(ctx context.Context, a *effect.Attempt, argv []string) (string, error) {
	r, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: filepath.Dir(a.Settings.ProjectFile), Env: process.Environment(os.Environ(), nil),
		Lock: a.Lock, Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}, MaxStdout: maxSecret,
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("its command cannot be run: %w", err)
	case r.Err != nil:
		return "", fmt.Errorf("its command: %w", r.Err)
	case r.ExitCode != 0:
		return "", fmt.Errorf("its command %s ended with exit code %d", argv[0], r.ExitCode)
	}
	return string(r.Stdout), nil
}

// redactor replaces values of secrets by their names, also as a JSON string has them. The zero one replaces nothing.
type redactor struct{ pairs []string }

// leastHidden is the length from which a value is replaced: shorter ones are no keys, and every "1" would be taken for one.
const leastHidden = 5

func (r *redactor) hide(name, value string) {
	if len(value) < leastHidden {
		return
	}
	r.pairs = append(r.pairs, value, "["+name+"]")
	if quoted, err := json.Marshal(value); err == nil {
		r.pairs = append(r.pairs, string(quoted[1:len(quoted)-1]), "["+name+"]")
	}
}

func (r redactor) redact(text string) string { return strings.NewReplacer(r.pairs...).Replace(text) }
