package stdlib

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"starling/stdlib/confine"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// What shells, env and their like exit with when they cannot execute a program (POSIX, sh, 2.8.2).
// A test that was never run has not failed: these codes are errors and no results.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// complaint is how shells and env say which program they mean: "sh: 1: x: not found", "env: 'x': No
// such file or directory", "bash: line 1: x: command not found", "exec: x: not found".
var complaint = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(?:^|: )[‘'"` + "`" + `]?([^\s:‘’'"` + "`" + `]+)[’'"` + "`" + `]?: (?:command )?(?:not found|No such file or directory|Permission denied|cannot execute|bad interpreter)`)
})

// unfound is the program that was not found, as far as standard error says, "" otherwise.
func unfound(r process.Result) string {
	all := complaint().FindAllSubmatch(r.Stderr, -1)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1][1])
}

// allowing says how a program gets into the sandbox that is there outside of it.
func (c command) allowing(spec process.Spec, program string) string {
	path := confine.Outside(program, spec.Env)
	if spec.Sandbox == nil || path == "" || slices.Contains(spec.Sandbox.Read, path) {
		return ""
	}
	return fmt.Sprintf("; outside of the sandbox there is %s: add it, or the folder that it needs, to read under [sh] in %s", path, project.Name)
}

// lastWords is the last line of standard error.
func lastWords(r process.Result) string {
	lines := strings.Split(strings.TrimSpace(textOf(r.Stderr)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return " (" + last + ")"
	}
	return ""
}
