package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/stdlib/confine"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// examineSandbox starts something in the sandbox of the project, and each of the programs that it
// allows.
func (c *call) examineSandbox(ctx context.Context) []finding {
	level, programs, s := project.WholeSandbox, []string(nil), &effect.Settings{}
	if c.place.Project != "" {
		if read, err := c.settings(c.place.Project, ""); err == nil {
			if f, err := project.Parse(read.ProjectFile, read.Project); err == nil {
				level, programs, s = f.Shell.Sandbox, f.Shell.Allow, read
			}
		}
	}
	if level == project.NoSandbox {
		return []finding{{"sandbox", "", absent, `there is none: [sh] says sandbox = "none"`, `take it away: "whole" is the default`}}
	}
	t := confine.Trial{Settings: s, Store: c.place.Store, Level: level}
	found := []finding{sandboxOf(ctx, t)}
	if found[0].State == faulty {
		if len(programs) == 0 {
			found[0].State = absent // nobody needs it
		}
		return found
	}
	for _, program := range programs {
		found = append(found, programIn(ctx, t, program))
	}
	return found
}

// sandboxOf says whether the sandbox can be had.
func sandboxOf(ctx context.Context, t confine.Trial) finding {
	r, err := t.Run(ctx, "/bin/sh", "-c", ":")
	switch {
	case errors.Is(err, process.ErrSandbox):
		return finding{"sandbox", "", faulty, fmt.Sprintf("%v: commands are refused", err), `write sandbox = "partial" under [sh] to go on with what this machine has, which each attempt then says`}
	case err != nil:
		return finding{"sandbox", "", faulty, err.Error(), ""}
	case len(r.Lacks) > 0:
		return finding{"sandbox", "", absent, "partial: " + strings.Join(r.Lacks, "; "), ""}
	}
	return finding{"sandbox", "", healthy, t.Level + ": nothing is lacking", ""}
}

// programIn says whether a program that commands may be starts in the sandbox. What it says to
// --version is of no interest, only that there was a program to say it.
func programIn(ctx context.Context, t confine.Trial, program string) finding {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := t.Run(ctx, program, "--version")
	f := finding{"sandbox", program, healthy, "starts inside", ""}
	path := confine.Outside(program, t.Env())
	mend := fmt.Sprintf("add %s, or the folder that it needs, to read under [sh]", cmp.Or(path, "what it needs"))
	switch {
	case errors.Is(err, process.ErrNotFound):
		f.State, f.Is, f.Mend = faulty, err.Error(), ""
	case err != nil:
		f.State, f.Is, f.Mend = faulty, err.Error(), mend
	case r.TimedOut:
		f.Is = fmt.Sprintf("starts inside; it had not ended after %s", patience)
	case r.ExitCode == 126, r.ExitCode == 127:
		f.State, f.Is, f.Mend = faulty, strings.TrimSpace(fmt.Sprintf("it exits with %d inside %s", r.ExitCode, lastLine(r.Stderr))), mend
	}
	return f
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD")), "\n")
	return lines[len(lines)-1]
}
