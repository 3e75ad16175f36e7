// Package webhook takes what others post to /webhooks/NAME of a server: an issue was opened, a
// build has ended, somebody has paid. [webhooks.NAME] of the project says how the sender signs, in
// the name of which token it acts, and what comes of it: a run that starts, an item of a queue, the
// answer to a gate.
//
// Nothing is done before the signature is that of the secret, and nothing that the token may not
// do. The sender's id of a delivery is the idempotency key, so one that is sent again, or over and
// over, is done once.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/itchyny/gojq"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/tool"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

// filterWithin is how long a jq filter may take: one that does not end is a mistake of the project.
const filterWithin = time.Second

// longestID bounds the id of a delivery in bytes; it is part of a key of the store.
const longestID = 256

// Receiver takes deliveries. It never changes; goroutines share it.
type Receiver struct {
	Desk *tool.Desk
	// Settings are those of the project as it is now.
	Settings func() (*effect.Settings, error)
	Getenv   func(name string) (string, bool)
	Clock    func() time.Time
	Refusals *Refusals // what is refused is noted here; nil for nowhere
	Shelf    *Shelf    // and what could be taken another time is kept here
}

// Answer says what came of a delivery. What a run or a gate is about is not told: the sender is
// not who reads it.
type Answer struct {
	Schema   string `json:"schema"`
	Status   string `json:"status"` // "accepted" or "ignored"
	Delivery string `json:"delivery,omitempty"`
	Run      string `json:"run,omitempty"`
	Item     uint64 `json:"item,omitempty"`

	Challenge string `json:"challenge,omitempty"` // what the sender has asked to be told, to see that somebody is there
}

// Deed is what a delivery asks for: a tool of runtime/tool, and its arguments. The zero Deed is
// nothing at all.
type Deed struct {
	Tool      string         `json:"tool,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// unknown is what gets who posts to a webhook that there is not, or signs with another secret: it
// does not learn which.
func unknown(name string, why error) error {
	return runtime.Refusef(runtime.ErrDenied, "the webhook %q takes nothing that is signed like this: %v", name, why)
}

// Receive takes a delivery to a webhook. It is refused with denied where the signature or the token
// is not right, bad_payload where the body is no JSON or a filter fails, and with what the tool
// refuses. What is refused of a webhook that there is, is noted.
func (r *Receiver) Receive(req *http.Request, name string, body []byte) (any, error) {
	settings, err := r.Settings()
	if err != nil {
		return nil, err
	}
	file, err := project.Parse(settings.ProjectFile, settings.Project)
	if err != nil {
		return nil, err
	}
	hook, ok := file.Webhook(name)
	if !ok {
		return nil, unknown(name, errSignature)
	}
	p := posting{Receiver: r, settings: settings, file: file, hook: hook, from: senders()[hook.From]}
	answer, err := p.take(req, body)
	if err != nil && r.Refusals != nil {
		why := runtime.AsRefusal(err)
		noted := Refused{Webhook: name, At: r.Clock(), Kind: string(why.Kind), Reason: why.Message, Delivery: p.id, Event: p.event}
		if p.unsigned != nil {
			noted.Reason = p.unsigned.Error()
		}
		failed := r.Refusals.Add(noted, p.unsigned != nil)
		if p.mapped && mendable(why.Kind) {
			noted.Count = 1
			failed = errors.Join(failed, p.keep(noted, p.posted))
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("it is not noted: %w", failed))
		}
	}
	if err == nil && r.Shelf != nil && p.mapped { // it was sent again, and is done
		p.drop()
	}
	return answer, err
}

// drop keeps the delivery no longer. It is done whatever comes of that, and so it is answered: the
// log has that it is kept still.
func (p *posting) drop() {
	err := p.Shelf.Drop(p.hook.Name, p.id)
	if err == nil || p.Refusals == nil {
		return
	}
	still := Refused{Webhook: p.hook.Name, At: p.Clock(), Kind: string(runtime.ErrInternal), Reason: doneThough(err), Delivery: p.id, Event: p.event}
	_ = p.Refusals.Add(still, false) // on the same disk: nothing is left to say it with
}

// doneThough says that what was done could not be forgotten.
func doneThough(err error) string {
	return fmt.Sprintf("it is done; do not replay it: it is kept still, %v", err)
}

// posting is what somebody posts to a webhook, from the beginning to its end.
type posting struct {
	*Receiver
	settings *effect.Settings
	file     *project.File
	hook     project.Webhook
	from     sender

	unsigned  error  // why nobody is known to have signed it, which the sender does not learn; nil where somebody has
	event, id string // what the sender calls it, once it is known
	posted    any
	mapped    bool              // all is right with its sender, and it was looked at what it asks for
	hidden    map[string]string // values that it came with, or acts with
}

func (p *posting) take(req *http.Request, body []byte) (any, error) {
	ctx := req.Context()
	key, err := p.value(ctx, p.hook.Secret)
	if err != nil {
		p.unsigned = err
		return nil, unknown(p.hook.Name, errSignature)
	}
	if p.unsigned = p.from.verify(key, req.Header, body, p.Clock()); p.unsigned != nil {
		return nil, unknown(p.hook.Name, p.unsigned)
	}
	p.hidden = map[string]string{p.hook.Secret: key}
	posted, unread := document(req.Header.Get("Content-Type"), body)
	p.event, p.id = p.from.event(req.Header, posted), p.from.delivery(req.Header, posted)
	if p.id == "" || len(p.id) > longestID { // what is the same is done once
		sum := sha256.Sum256(body)
		p.id = hex.EncodeToString(sum[:])
	}
	if err := p.trusted(ctx, p.settings); err != nil {
		return nil, err
	}
	if ctx, err = p.named(ctx); err != nil {
		return nil, err
	}
	if unread != nil { // who sent it is known, so it is noted with what it is called
		return nil, unread
	}
	if challenge, ok := p.from.challenged(posted); ok {
		return Answer{Schema: runtime.Schema, Status: "ignored", Challenge: challenge}, nil
	}
	p.posted, p.mapped = posted, true
	return p.carryOut(ctx, delivery{hook: p.hook, posted: posted, event: p.event, id: p.id})
}

// value is that of a secret of the project.
func (p *posting) value(ctx context.Context, name string) (string, error) {
	declared, ok := p.file.Secret(name)
	if !ok {
		return "", fmt.Errorf("the secret %s is not declared", name) // Parse has refused that
	}
	return secret.Value(ctx, &effect.Attempt{Settings: p.settings, Env: p.Getenv}, declared)
}

// trusted refuses everything while the project is another one than the one that somebody has looked
// at: an agent that can write its file could give a webhook a secret that it knows.
func (r *Receiver) trusted(ctx context.Context, s *effect.Settings) error {
	kept, err := runtime.Extension[runtime.Trusts](r.Desk.Engine)
	if err != nil {
		return err
	}
	owner := runtime.Caller{Name: "webhooks", Local: true} // only looks, for this process, which owns the store
	t, err := kept.Trust(runtime.WithCaller(ctx, owner), runtime.TrustRequest{Settings: *s, Look: true})
	switch {
	case err != nil:
		return err
	case !t.Known || t.Changed():
		return runtime.Refuse(runtime.ErrDenied, "starling trust, where it is served", "webhooks are not taken: the project is not as somebody trusted it")
	}
	return nil
}

// named is the context of the token in whose name a webhook acts.
func (p *posting) named(ctx context.Context) (context.Context, error) {
	known, err := runtime.Extension[runtime.Bearers](p.Desk.Engine)
	if err != nil {
		return nil, err
	}
	value, err := p.value(ctx, p.hook.Token)
	if err != nil { // the sender is known, and does not learn where it is looked for
		return nil, runtime.Refuse(runtime.ErrInternal, "starling webhooks ls says why", "this webhook has not all that it needs here")
	}
	p.hidden[p.hook.Token] = value
	caller, err := known.Bearer(value)
	if err == nil && caller.Name == "" {
		err = runtime.Refusef(runtime.ErrDenied, "it is the token of no one here")
	}
	if err != nil {
		return nil, runtime.Refuse(runtime.ErrDenied, "starling token add makes one, for the server to have as its secret",
			"the token of the webhook %q: %v", p.hook.Name, runtime.AsRefusal(err).Message)
	}
	return runtime.WithCaller(ctx, caller), nil
}

// document is what was posted: JSON, or a form whose field payload is, as GitHub sends where it is
// asked for no other.
func document(contentType string, body []byte) (any, error) {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, runtime.Refusef(runtime.ErrBadPayload, "the body is no form: %v", err)
		}
		if !form.Has("payload") {
			return nil, runtime.Refuse(runtime.ErrBadPayload, "have it posted as application/json", "the body is a form without a field payload")
		}
		body = []byte(form.Get("payload"))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // ids are longer than what a float holds
	var posted any
	err := decoder.Decode(&posted)
	if err == nil && decoder.More() {
		err = errors.New("more follows the first value")
	}
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "the body is no JSON: %v", err)
	}
	return posted, nil
}

// delivery is one that is signed as it must be.
type delivery struct {
	hook      project.Webhook
	posted    any
	event, id string
}

// carryOut does what a delivery asks for.
func (r *Receiver) carryOut(ctx context.Context, d delivery) (Answer, error) {
	deed, err := d.deed(ctx)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Schema: runtime.Schema, Status: "ignored", Delivery: d.id}
	if deed.Tool == "" {
		return answer, nil
	}
	arguments, err := gojq.Marshal(deed.Arguments)
	if err != nil {
		return Answer{}, err
	}
	tools := tool.Tools()
	called := &tools[slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == deed.Tool })]
	result, err := called.Call(ctx, r.Desk, arguments)
	if err != nil {
		return Answer{}, err
	}
	answer.Status = "accepted"
	switch result := result.(type) {
	case *tool.Standing:
		answer.Run = result.Run
	case tool.Accepted:
		answer.Run = result.Run
	case runtime.Pushed:
		answer.Item = result.Item
	}
	return answer, nil
}

// deed is what a delivery asks for.
func (d delivery) deed(ctx context.Context) (Deed, error) {
	if d.hook.When != "" {
		holds, err := d.filtered(ctx, "when", d.hook.When)
		if err != nil || holds == nil || holds == false {
			return Deed{}, err
		}
	}
	key := fmt.Sprintf("webhook/%s/%s", d.hook.Name, d.id)
	switch {
	case d.hook.Run != "":
		inputs, err := d.filtered(ctx, "inputs", cmp.Or(d.hook.Inputs, "{}"))
		return Deed{"run", map[string]any{"script": d.hook.Run, "inputs": inputs, "key": key,
			"labels": map[string]any{"webhook": d.hook.Name}}}, err
	case d.hook.Push != "":
		value, err := d.filtered(ctx, "value", cmp.Or(d.hook.Value, "."))
		return Deed{"push", map[string]any{"queue": d.hook.Push, "value": value, "key": key}}, err
	}
	made, err := d.filtered(ctx, "signal", d.hook.Signal)
	if err != nil {
		return Deed{}, err
	}
	arguments, ok := made.(map[string]any)
	if !ok {
		return Deed{}, runtime.Refusef(runtime.ErrBadPayload, "webhooks.%s.signal: got %s, want an object such as {run: …, gate: …, choice: …}", d.hook.Name, gojq.TypeOf(made))
	}
	arguments["key"] = key
	return Deed{"signal", arguments}, nil
}

// filtered is the first value that a jq filter makes of what was posted, None where it makes none.
func (d delivery) filtered(ctx context.Context, key, filter string) (any, error) {
	code, err := project.Filter(filter)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, filterWithin)
	defer cancel()
	value, ok := code.RunWithContext(ctx, d.posted, d.event, d.id).Next()
	if !ok {
		return nil, nil
	}
	if err, failed := value.(error); failed {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "webhooks.%s.%s: %v", d.hook.Name, key, err)
	}
	return value, nil
}
