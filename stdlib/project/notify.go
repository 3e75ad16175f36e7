package project

import (
	"fmt"
	"slices"
	"strings"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Notify is one [notify.NAME]: somebody who is told what happens in runs, by a webhook or by a
// command.
type Notify struct {
	Name    string
	On      []string // what of: effect.NoticeGate, NoticeDecision, NoticeEnd, NoticeBudget, NoticeWork; never none
	Targets []string // of gates and work only those for one of these; nil is all

	StartedBy []string // only of runs that one of these has started; nil is all

	Webhook string   // address that is sent the notice, in which {NAME} stands for a secret; see [Placeholder]
	Secret  string   // name of the secret that webhooks are signed with, "" for none
	Command []string // program and arguments, which has the notice on its standard input
	Mail    []string // addresses that are sent mail; From, SMTP, User and Server belong to it, and Secret is the password then
	From    string   // address it is from
	SMTP    string   // address of the mail server: smtp://HOST:PORT, or with TLS at once smtps://HOST:PORT
	User    string   // of the mail server, "" for none
	Server  string   // address of the starling server to which commands of the mail are sent, "" for none
	Env     []string // names of variables that the command is given, each once
}

// Notices is what runs are to note for those who are told.
func (f *File) Notices() []effect.Notice {
	var list []effect.Notice
	for _, n := range f.Notify {
		list = append(list, effect.Notice{Channel: n.Name, On: n.On, Targets: n.Targets, StartedBy: n.StartedBy})
	}
	if f.Telemetry != nil {
		list = append(list, f.Telemetry.told())
	}
	return list
}

// Notified finds who is told by name.
func (f *File) Notified(name string) (Notify, bool) {
	i := slices.IndexFunc(f.Notify, func(n Notify) bool { return n.Name == name })
	if i < 0 {
		return Notify{}, false
	}
	return f.Notify[i], true
}

func (r *reader) notify(name string, t table) Notify {
	if err := effect.CheckName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "on", "targets", "started_by", "webhook", "secret", "command", "env", "mail", "from", "smtp", "user", "server")
	n := Notify{Name: name, On: r.strings(t, "on"), Targets: r.strings(t, "targets"), Webhook: r.webhook(t), Command: r.strings(t, "command"), Env: r.variables(t),
		StartedBy: r.strings(t, "started_by")}
	n.Secret, _ = r.string(t, "secret")
	known := []string{effect.NoticeGate, effect.NoticeDecision, effect.NoticeEnd, effect.NoticeBudget, effect.NoticeWork}
	for i, on := range n.On {
		if !slices.Contains(known, on) {
			r.refuse(t.element("on", i), fmt.Sprintf("%q", on), "gate, decision, end, budget or work", diagnostic.Meant(on, known))
		}
	}
	if len(n.On) == 0 {
		n.On = []string{effect.NoticeGate, effect.NoticeEnd, effect.NoticeBudget}
	}
	r.mail(&n, t)
	r.oneWay(n, t)
	return n
}

// oneWay checks that somebody is told in one way, and brings what belongs to it.
func (r *reader) oneWay(n Notify, t table) {
	given := func(key string) bool { _, ok := t.values[key]; return ok }
	ways := slices.DeleteFunc([]string{"webhook", "command", "mail"}, func(way string) bool { return !given(way) })
	if len(ways) != 1 {
		r.complain(t.path, diagnostic.Diagnostic{Message: "whoever is told has a webhook, a command or mail",
			Hint: `write webhook = "https://example.org/hook", command = ["program"], or mail = ["ann@example.org"]`})
		return
	}
	way := ways[0]
	if way == "command" && (len(n.Command) == 0 || n.Command[0] == "") {
		r.refuse(t.at("command"), "no program", "a program and its arguments", "")
	}
	for key, of := range map[string]string{"secret": "webhook mail", "env": "command", "from": "mail", "smtp": "mail", "user": "mail", "server": "mail"} {
		if !given(key) || strings.Contains(of, way) {
			continue
		}
		message, hint := fmt.Sprintf("%s is of mail", key), `write mail = ["ann@example.org"]`
		switch {
		case key == "secret":
			message, hint = "only webhooks are signed", "give the command variables with env"
		case key == "env":
			message, hint = "a webhook has no variables", "sign it with secret"
			if way == "mail" {
				message, hint = "mail has no variables", "the password of its server is that of secret"
			}
		}
		r.complain(t.at(key), diagnostic.Diagnostic{Message: message, Hint: hint})
	}
}

// webhook reads the address of a webhook. Where a secret stands at its beginning, nothing can be
// said of it here.
func (r *reader) webhook(t table) string {
	text, ok := r.string(t, "webhook")
	if at := Placeholder().FindStringIndex(text); ok && (at == nil || at[0] > 0) {
		r.checkAddress(t.at("webhook"), text, Placeholder().ReplaceAllString(text, "x"))
	}
	return text
}

// checkHooks checks that the secrets are declared that webhooks are signed with, or that stand in
// their addresses.
func (r *reader) checkHooks(f *File, t table) {
	for _, n := range f.Notify {
		own := table{path: t.at(n.Name)}
		r.checkUse(f, own.at("webhook"), n.Webhook)
		if n.Secret != "" {
			r.checkDeclared(f, own.at("secret"), n.Secret)
		}
	}
}
