// Package notify tells somebody what has happened in a run: by a webhook, mail or a command. When,
// and how often, is the runtime's.
//
// A webhook is sent the notice as JSON, with the headers of Standard Webhooks:
//
//	webhook-id         the notice's: whoever is told again sees the same
//	webhook-timestamp  when it was sent, seconds since 1970
//	webhook-signature  v1, and the base64 of HMAC-SHA256 over "ID.TIMESTAMP.BODY", with a secret
//
// A secret that begins with whsec_ is base64 behind it, as these are written, or nothing is sent;
// any other is taken as it is. What is answered with a status of 2xx has arrived; 410 says that
// nobody wants to be told; everything else is tried again. An address may be a secret, or have one
// in it, and its path often is one: errors show the host at most, and nothing of what secrets hold.
//
// Mail is plain text with what is asked and the command that answers it, over TLS or on this
// machine alone; its Message-ID is made of the notice's. What a server refuses with 550 to 559 is
// given up, everything else is tried again.
//
// A command has the notice on its standard input and its id in STARLING_NOTICE; it has told
// somebody when it exits with 0.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// Handler returns the handler of notices. Their arguments are the channel, a name under [notify],
// and the body.
func Handler() *effect.Handler {
	client := &http.Client{Timeout: webhookTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply { return perform(ctx, client, a) }}
}

func perform(ctx context.Context, client *http.Client, a *effect.Attempt) effect.Reply {
	args := effect.ViewOf(a.Args)
	f, err := project.Parse(a.Settings.ProjectFile, a.Settings.Project)
	if err != nil {
		return failed(effect.Final, "the project file: %v", err)
	}
	n, ok := f.Notified(args.Text("channel"))
	switch {
	case !ok:
		return failed(effect.Final, "there is no [notify.%s]", args.Text("channel"))
	case n.Webhook != "":
		return send(ctx, client, a, n, args.Text("body"))
	case n.SMTP != "":
		return post(ctx, a, n, args.Text("body"))
	}
	return execute(ctx, a, n, args.Text("body"))
}

func failed(class effect.Failure, format string, args ...any) effect.Reply {
	return effect.Reply{Err: effect.Errorf(effect.KindEffect, format, args...), Class: class}
}

// execute runs the command once, under a guard.
func execute(ctx context.Context, a *effect.Attempt, n project.Notify, body string) effect.Reply {
	set := []string{"STARLING_RUN_ID=" + a.Run, "STARLING_NOTICE=" + a.Key}
	for _, name := range n.Env {
		value, ok := a.Env(name)
		if !ok {
			return failed(effect.Retryable, "the environment variable %s, which [notify.%s] declares, has no value", name, n.Name)
		}
		set = append(set, name+"="+value)
	}
	argv := append([]string{programOf(n, a.Settings)}, n.Command[1:]...)
	r, err := process.Run(ctx, process.Spec{Argv: argv, Dir: a.Settings.Workspace, Env: process.Environment(os.Environ(), nil, set...), Stdin: strings.NewReader(body),
		Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}, Host: a})
	switch {
	case err != nil:
		return failed(effect.Retryable, "%v", err)
	case r.Err != nil && !errors.Is(r.Err, process.ErrStdin):
		return failed(effect.Retryable, "%v", r.Err)
	case r.ExitCode != 0:
		return failed(effect.Retryable, "%s", ended(argv[0], r))
	}
	return effect.Reply{}
}

// programOf takes a relative program from the folder of the project file.
func programOf(n project.Notify, s *effect.Settings) string {
	program := n.Command[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return filepath.Join(filepath.Dir(s.ProjectFile), program)
	}
	return program
}

// ended says how a command that has told nobody ended. Standard error is left out: it may have what
// the command was given.
func ended(program string, r process.Result) string {
	if r.Signal != "" {
		return fmt.Sprintf("%s was ended by %s", program, r.Signal)
	}
	return fmt.Sprintf("%s exited with %d", program, r.ExitCode)
}
