package project

import (
	"errors"
	"fmt"
	"slices"

	"github.com/itchyny/gojq"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Webhook is one [webhooks.NAME]: what others may post to /webhooks/NAME of a server, and what
// comes of it. One of Run, Push and Signal is set.
type Webhook struct {
	Name   string
	From   string // how the sender signs: one of [Senders]
	Secret string // name of the secret that it signs with
	Token  string // name of the secret that is the token in whose name it acts
	When   string // a jq filter, "" for always: what it does not hold for is ignored

	Run    string // starts this definition; Inputs is a jq filter that makes its inputs
	Inputs string
	Push   string // puts an item into this queue; Value is a jq filter that makes it
	Value  string
	Signal string // a jq filter that makes the arguments of the tool signal
}

// Senders are the ways to sign that are known.
func Senders() []string { return []string{"github", "gitlab", "slack", "standard", "stripe"} }

// WebhookVariables are what jq filters of webhooks know beside what was posted: what the sender
// calls the event, and its id of the delivery.
func WebhookVariables() []string { return []string{"$event", "$delivery"} }

// Webhook finds one by name.
func (f *File) Webhook(name string) (Webhook, bool) {
	i := slices.IndexFunc(f.Webhooks, func(w Webhook) bool { return w.Name == name })
	if i < 0 {
		return Webhook{}, false
	}
	return f.Webhooks[i], true
}

// incoming reads one [webhooks.NAME].
func (r *reader) incoming(f *File, name string, t table) Webhook {
	if err := effect.CheckName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "from", "secret", "token", "when", "run", "inputs", "push", "value", "signal")
	w := Webhook{Name: name, When: r.filter(t, "when"), Inputs: r.filter(t, "inputs"), Value: r.filter(t, "value"), Signal: r.filter(t, "signal")}
	w.Run, _ = r.string(t, "run")
	w.Push, _ = r.string(t, "push")
	from, ok := r.string(t, "from")
	if w.From = from; !slices.Contains(Senders(), from) && (ok || t.values["from"] == nil) {
		r.refuse(t.at("from"), fmt.Sprintf("%q", from), "github, gitlab, slack, standard (Standard Webhooks) or stripe", diagnostic.Meant(from, Senders()))
	}
	w.Secret = r.held(f, t, "secret", "what the sender signs with")
	w.Token = r.held(f, t, "token", "the secret of a token, in whose name it acts: starling token add "+name+" --can run,read")
	r.oneDeed(t)
	return w
}

// oneDeed checks that a webhook does one thing, and brings what belongs to it.
func (r *reader) oneDeed(t table) {
	deeds := 0
	for deed, filter := range map[string]string{"run": "inputs", "push": "value", "signal": ""} {
		text, is := t.values[deed].(string)
		if _, there := t.values[deed]; there {
			deeds++
		} else if _, stray := t.values[filter]; stray {
			r.complain(t.at(filter), diagnostic.Diagnostic{Message: fmt.Sprintf("%s belongs to %s, which is not there", filter, deed)})
		}
		if is && text == "" {
			r.refuse(t.at(deed), `""`, "a name, or a jq filter for signal", "")
		}
	}
	if deeds != 1 {
		r.complain(t.path, diagnostic.Diagnostic{Message: fmt.Sprintf("this webhook does %d things, want one", deeds),
			Hint: `write run = "DEFINITION", push = "QUEUE", or signal = '{run: …, gate: …, choice: …}'`})
	}
}

// held reads the name of a declared secret whose value can be had without a step.
func (r *reader) held(f *File, t table, key, what string) string {
	name, ok := r.string(t, key)
	if !ok {
		if _, given := t.values[key]; !given {
			r.complain(t.path, diagnostic.Diagnostic{Message: key + " is missing: " + what, Hint: fmt.Sprintf("write %s = \"NAME\", and [secrets.NAME] with env or file", key)})
		}
		return ""
	}
	r.checkDeclared(f, t.at(key), name)
	if s, ok := f.Secret(name); ok && len(s.Command) > 0 {
		r.complain(t.at(key), diagnostic.Diagnostic{Message: "the secret " + name + " comes from a command, which is run for steps alone", Hint: "give it env or file"})
	}
	return name
}

// filter reads a jq filter.
func (r *reader) filter(t table, key string) string {
	text, ok := r.string(t, key)
	if !ok {
		return ""
	}
	if _, err := Filter(text); err != nil {
		hint := ""
		if at := (&gojq.ParseError{}); errors.As(err, &at) {
			hint = "the mistake is at " + text[:min(at.Offset, len(text))] + " <-"
		}
		r.complain(t.at(key), diagnostic.Diagnostic{Message: "no jq filter: " + err.Error(), Hint: hint})
	}
	return text
}

// Filter reads a jq filter of a webhook (jqlang.org/manual), which sees nothing of the machine.
func Filter(text string) (*gojq.Code, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q, gojq.WithVariables(WebhookVariables()))
}
