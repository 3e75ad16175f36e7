// Package secret finds the values of the secrets that a project declares, for the attempt that
// needs them, and hides them in what comes back. A value is in no journal, snapshot or error.
package secret

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/redact"
)

// maxValue bounds the value of a secret in bytes.
const maxValue = 64 << 10

// Declared is what the project says of a secret.
func Declared(s *effect.Settings, name string) (project.Secret, error) {
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

// Reveal looks the value of a secret up. Errors say where it was looked for, and nothing of what
// was found.
func Reveal(ctx context.Context, a *effect.Attempt, name string) (string, error) {
	s, err := Declared(a.Settings, name)
	if err != nil {
		return "", err
	}
	return Value(ctx, a, s)
}

// Value is Reveal of a secret whose declaration is known.
func Value(ctx context.Context, a *effect.Attempt, s project.Secret) (value string, err error) {
	switch {
	case s.Env != "":
		value, err = inVariable(a, s.Env)
	case s.File != "":
		value, err = inFile(filepath.Join(filepath.Dir(a.Settings.ProjectFile), filepath.FromSlash(s.File)), filepath.IsAbs(s.File), s.File)
	default:
		value, err = ofCommand(ctx, a, s.Command)
	}
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret %s: %w", s.Name, err)
	case value == "":
		return "", fmt.Errorf("the secret %s is empty", s.Name)
	}
	return value, nil
}

// Given is what hides the values of variables that an attempt is given, and its token.
func Given(a *effect.Attempt, names []string) *redact.Redactor {
	hide := new(redact.Redactor)
	for _, name := range names {
		if value, ok := a.Env(name); ok {
			hide.Hide(name, value)
		}
	}
	hide.Hide("STARLING_TOKEN", a.Token)
	return hide
}

// Keys is what hides those of these values that are keys: in a reply a value may be what was asked
// for, a path or a model, and is one where its name or its form says so. It hides the token too.
func Keys(a *effect.Attempt, names []string) *redact.Redactor {
	return Given(a, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		value, _ := a.Env(name)
		return !keyName().MatchString(name) && !Found([]byte(value))
	}))
}

var keyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)key|token|secret|pass|pwd|credential|auth|cookie|session|(^|_)sign|salt|webhook|private|dsn|(^|_)(pw|pin|ak|sk|pat)(_|$)`)
})

// Unhidden says of declared secrets, and of declared variables that are keys by their names, why
// their values are not hidden: see [redact.Plain]. Those without a value, and those that a program
// brings, are left out.
func Unhidden(ctx context.Context, a *effect.Attempt, f *project.File) map[string]string {
	found := map[string]string{}
	for _, s := range f.Secrets {
		if len(s.Command) > 0 {
			continue
		}
		if value, err := Reveal(ctx, a, s.Name); err == nil && redact.Plain(value) != "" {
			found[s.Name] = redact.Plain(value)
		}
	}
	for _, name := range a.Settings.Env {
		if value, ok := a.Env(name); ok && keyName().MatchString(name) && redact.Plain(value) != "" {
			found[name] = redact.Plain(value)
		}
	}
	return found
}

// Fill puts the values of secrets into a text, where {NAME} stands for them (see
// [project.Placeholder]), and has them hidden in what is shown.
func Fill(ctx context.Context, a *effect.Attempt, text string, shown *redact.Redactor) (string, error) {
	var failed error
	text = project.Placeholder().ReplaceAllStringFunc(text, func(m string) string {
		name := strings.Trim(m, "{}")
		value, err := Reveal(ctx, a, name)
		if err != nil {
			failed = err
		}
		shown.Hide(name, value)
		return value
	})
	return text, failed
}

func inVariable(a *effect.Attempt, variable string) (string, error) {
	value, ok := a.Env(variable)
	if !ok {
		return "", fmt.Errorf("the environment variable %s has no value; set it and resume the run", variable)
	}
	return value, nil
}

func inFile(joined string, absolute bool, written string) (string, error) {
	if absolute {
		joined = written
	}
	f, err := os.Open(joined)
	if err != nil {
		return "", fmt.Errorf("its file %s cannot be read", written)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxValue+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("its file %s cannot be read", written)
	case len(text) > maxValue:
		return "", fmt.Errorf("its file %s has more than %d bytes", written, maxValue)
	}
	return string(text), nil
}

// ofCommand runs the program under the step's guard, without input; it is found from the folder of
// the project file.
func ofCommand(ctx context.Context, a *effect.Attempt, argv []string) (string, error) {
	r, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: filepath.Dir(a.Settings.ProjectFile), Env: process.Environment(os.Environ(), nil),
		Lock: a.Lock(), Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}, Host: a,
		MaxStdout: maxValue,
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
