package notify

import (
	"context"
	"net/url"
	"os"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/redact"
)

// What says who is told: a command, addresses, or the host of a webhook, whose path may be a key.
func What(n project.Notify) string {
	if n.SMTP != "" {
		return "mail to " + strings.Join(n.Mail, ", ")
	}
	if n.Webhook == "" {
		return "command " + n.Command[0]
	}
	u, err := url.Parse(n.Webhook)
	if err != nil || u.Host == "" {
		return "webhook at a secret address"
	}
	return "webhook " + u.Host
}

// Lacks says what is missing here for somebody to be told, and how to mend it; both are "" when
// nothing is. Nothing is sent.
func Lacks(ctx context.Context, n project.Notify, s *effect.Settings, env func(name string) (string, bool)) (what, mend string) {
	for _, name := range n.Env {
		if _, ok := env(name); !ok {
			return "the environment variable " + name + " has no value", "export " + name + "=…"
		}
	}
	if n.SMTP != "" {
		if _, err := passwordOf(ctx, &effect.Attempt{Settings: s, Env: env}, n, new(redact.Redactor)); err != nil {
			return err.Error(), "see [notify." + n.Name + "] in " + project.Name + ", and the secret that it names"
		}
		return "", ""
	}
	if n.Webhook != "" {
		if _, err := open(ctx, &effect.Attempt{Settings: s, Env: env}, n); err != nil {
			return err.Error(), "see [notify." + n.Name + "] in " + project.Name + ", and the secrets that it names"
		}
		return "", ""
	}
	spec := process.Spec{Argv: []string{programOf(n, s)}, Env: process.Environment(os.Environ(), nil)}
	if err := spec.Check(); err != nil {
		return err.Error(), "install it, or correct command under [notify." + n.Name + "]"
	}
	return "", ""
}
