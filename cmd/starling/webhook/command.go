package webhook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"starling/cmd/starling/table"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/notify"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

// Terminal is the command line around the verb.
type Terminal struct {
	Receiver
	In       io.Reader
	Out      io.Writer
	Paper    func() table.Paper
	Answer   func(any) (wanted bool, _ error) // prints a document instead, if that is wanted
	Flags    func(*cobra.Command)             // adds those of documents
	Operands func(from, to int) cobra.PositionalArgs
}

// Commands are those below the verb webhooks.
func Commands(t Terminal) []*cobra.Command {
	list := &cobra.Command{
		Use:   "ls",
		Short: "List them, with what is missing for them",
		Args:  t.Operands(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return t.list(cmd.Context()) },
	}
	var event string
	try := &cobra.Command{
		Use:   "try NAME FILE",
		Short: "Say what would come of a delivery, and do nothing",
		Long: `Read the JSON document of FILE, or of standard input for -, as if the sender of the webhook NAME had posted it, and print which tool would be called with which
arguments. Nothing is sent, signed or started.`,
		Example: "  starling webhooks try github issue.json --event issues",
		Args:    t.Operands(2, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return t.try(cmd.Context(), args[0], args[1], event) },
	}
	try.Flags().StringVar(&event, "event", "", "what the sender calls it, `EVENT`, where it does not stand in the document")
	log := &cobra.Command{
		Use:   "log [NAME]",
		Short: "List the newest deliveries that were refused, and why",
		Args:  t.Operands(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return t.log(strings.Join(args, ""))
		},
	}
	for _, cmd := range []*cobra.Command{list, try, log} {
		t.Flags(cmd)
	}
	return []*cobra.Command{list, try, log}
}

// Listed is a webhook as it stands.
type Listed struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	From    string `json:"from"`
	Does    string `json:"does"`
	Missing string `json:"missing,omitempty"` // why it would be refused whoever signs it
}

func (t Terminal) list(ctx context.Context) error {
	settings, file, err := t.project()
	if err != nil {
		return err
	}
	list := []Listed{}
	for _, w := range file.Webhooks {
		l := Listed{Name: w.Name, Path: "/webhooks/" + w.Name, From: w.From, Does: does(w)}
		for _, name := range []string{w.Secret, w.Token} {
			l.Missing = cmp.Or(l.Missing, t.missing(ctx, settings, name))
		}
		if l.Missing == "" && w.From == "standard" {
			l.Missing = t.signs(ctx, settings, w.Secret)
		}
		list = append(list, l)
	}
	wanted, err := t.Answer(struct {
		Schema   string   `json:"schema"`
		Webhooks []Listed `json:"webhooks"`
	}{runtime.Schema, list})
	if wanted || err != nil {
		return err
	}
	rows := table.New(t.Paper(), "WEBHOOK", "PATH", "FROM", "DOES", "MISSING")
	for _, l := range list {
		rows.Row(l.Name, l.Path, l.From, l.Does, l.Missing)
	}
	return rows.Write(t.Out)
}

// missing says why a secret has no value here, "" where it has one.
func (t Terminal) missing(ctx context.Context, s *effect.Settings, name string) string {
	declared, err := secret.Declared(s, name)
	if err == nil && declared.Env != "" {
		if v, _ := t.Getenv(declared.Env); v == "" {
			return declared.Env + " has no value"
		}
		return ""
	}
	if err == nil {
		_, err = secret.Value(ctx, &effect.Attempt{Settings: s, Env: t.Getenv}, declared)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// signs says why nothing is signed with a secret of Standard Webhooks, "" where something is.
func (t Terminal) signs(ctx context.Context, s *effect.Settings, name string) string {
	value, err := secret.Reveal(ctx, &effect.Attempt{Settings: s, Env: t.Getenv}, name)
	if err == nil {
		if _, err = notify.KeyOf(value); err != nil {
			err = fmt.Errorf("the secret %s: %w", name, err)
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// log lists what was refused, of one webhook or of all.
func (t Terminal) log(name string) error {
	list, err := t.Refusals.List()
	if err != nil {
		return runtime.Refusef(runtime.ErrInternal, "webhooks log: %v", err)
	}
	list = slices.DeleteFunc(list, func(r Refused) bool { return name != "" && r.Webhook != name })
	wanted, err := t.Answer(struct {
		Schema  string    `json:"schema"`
		Refused []Refused `json:"refused"`
	}{runtime.Schema, list})
	if wanted || err != nil {
		return err
	}
	rows := table.New(t.Paper(), "AT", "WEBHOOK", "TIMES", "DELIVERY", "EVENT", "WHY").NamedBy(3)
	for _, r := range list {
		rows.Row(r.At.UTC().Format(time.RFC3339), r.Webhook, strconv.Itoa(r.Count), r.Delivery, r.Event, r.Reason)
	}
	return rows.Write(t.Out)
}

// does is what comes of a delivery, in a few words.
func does(w project.Webhook) string {
	switch {
	case w.Run != "":
		return "run " + w.Run
	case w.Push != "":
		return "push " + w.Push
	}
	return "signal"
}

func (t Terminal) project() (*effect.Settings, *project.File, error) {
	settings, err := t.Settings()
	if err != nil {
		return nil, nil, err
	}
	file, err := project.Parse(settings.ProjectFile, settings.Project)
	return settings, file, err
}

func (t Terminal) try(ctx context.Context, name, path, event string) error {
	_, file, err := t.project()
	if err != nil {
		return err
	}
	hook, ok := file.Webhook(name)
	if !ok {
		return runtime.Refuse(runtime.ErrUsage, fmt.Sprintf("write [webhooks.%s] in starling.toml; starling webhooks ls lists what there is", name), "there is no webhook %q", name)
	}
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(t.In)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "webhooks try: %v", err)
	}
	posted, err := document("application/json", text)
	if err != nil {
		return err
	}
	d := delivery{hook: hook, posted: posted, id: "DELIVERY", event: cmp.Or(event, senders()[hook.From].event(nil, posted))}
	deed, err := d.deed(ctx)
	if err != nil {
		return err
	}
	if wanted, err := t.Answer(deed); wanted || err != nil {
		return err
	}
	if deed.Tool == "" {
		_, err = fmt.Fprintf(t.Out, "ignored: when = %q does not hold\n", hook.When)
		return err
	}
	arguments, err := gojq.Marshal(deed.Arguments)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Out, "%s %s\n", deed.Tool, arguments)
	return err
}
