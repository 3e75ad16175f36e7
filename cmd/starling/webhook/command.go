package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"starling/cmd/starling/plain"
	"starling/cmd/starling/table"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/tool"
	"starling/stdlib/notify"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

// Terminal is the command line around the verb.
type Terminal struct {
	Receiver
	In       io.Reader
	Out      plain.Output
	Paper    func() table.Paper
	Answer   func(any) (wanted bool, _ error) // prints a document instead, if that is wanted
	Flags    func(*cobra.Command)             // adds those of documents
	Operands func(from, to int) cobra.PositionalArgs
	Open     func(context.Context) (desk *tool.Desk, leave func(), _ error) // of an owner of the store that stays
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
	var all bool
	replay := &cobra.Command{
		Use:   "replay [DELIVERY]...",
		Short: "Do now what refused deliveries asked for",
		Long: `Do now, by starling.toml as it is now, what deliveries asked for that were refused: those that webhooks log shows as kept. It is done in your name, under the key of
the delivery, so one that its sender has sent again meanwhile is done once. DELIVERY is the sender's id, or its beginning, and may have the webhook in front: NAME/DELIVERY.`,
		Example: "  starling webhooks replay --all",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return runtime.Refuse(runtime.ErrUsage, "starling webhooks log lists them", "webhooks replay: want deliveries, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return t.replay(cmd.Context(), args) },
	}
	replay.Flags().BoolVar(&all, "all", false, "all that are kept, the oldest first")
	commands := []*cobra.Command{list, try, log, replay}
	for _, cmd := range commands {
		t.Flags(cmd)
	}
	return commands
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
	kept, failed := t.Shelf.List()
	if err = errors.Join(err, failed); err != nil {
		return runtime.Refusef(runtime.ErrInternal, "webhooks log: %v", err)
	}
	list = withKept(list, kept)
	list = slices.DeleteFunc(list, func(r Refused) bool { return name != "" && r.Webhook != name })
	wanted, err := t.Answer(struct {
		Schema  string    `json:"schema"`
		Refused []Refused `json:"refused"`
	}{runtime.Schema, list})
	if wanted || err != nil {
		return err
	}
	rows := table.New(t.Paper(), "AT", "WEBHOOK", "TIMES", "DELIVERY", "EVENT", "KEPT", "WHY").NamedBy(3)
	for _, r := range list {
		rows.Row(r.At.UTC().Format(time.RFC3339), r.Webhook, strconv.Itoa(r.Count), r.Delivery, r.Event, map[bool]string{true: "yes"}[r.Kept], r.Reason)
	}
	return rows.Write(t.Out)
}

// withKept is what was refused, the newest first, with those that are kept though newer ones have
// pushed them out of the list. Of a delivery that was refused several times it is the newest.
func withKept(list []Refused, kept []Kept) []Refused {
	for _, k := range slices.Backward(kept) {
		same := func(r Refused) bool { return r.Webhook == k.Webhook && r.Delivery == k.Delivery }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].Kept = true
			continue
		}
		k.Kept = true
		list = append(list, k.Refused)
	}
	return list
}

// replayed says what came of one delivery.
type replayed struct {
	Webhook string `json:"webhook"`
	Answer
}

// replay does what kept deliveries asked for: those that are named, or all.
func (t Terminal) replay(ctx context.Context, names []string) error {
	kept, err := t.Shelf.List()
	if err != nil {
		return runtime.Refusef(runtime.ErrInternal, "webhooks replay: %v", err)
	}
	if len(names) > 0 {
		if kept, err = chosen(kept, names); err != nil {
			return err
		}
	}
	_, file, err := t.project()
	if err != nil {
		return err
	}
	done, failed := []replayed{}, error(nil)
	if len(kept) > 0 {
		desk, leave, err := t.Open(ctx)
		if err != nil {
			return err
		}
		defer leave()
		t.Desk = desk
	}
	for _, k := range kept {
		answer, err := t.again(ctx, file, k)
		if err == nil {
			done = append(done, replayed{k.Webhook, answer})
			if err := t.Shelf.Drop(k.Webhook, k.Delivery); err != nil {
				failed = cmp.Or(failed, error(runtime.Refusef(runtime.ErrInternal, "%s/%s: %s", k.Webhook, k.Delivery, doneThough(err))))
			}
			continue
		}
		why := runtime.AsRefusal(err)
		failed = cmp.Or(failed, error(runtime.Refuse(why.Kind, "it is kept still; webhooks try says what would come of a document", "%s/%s: %s", k.Webhook, k.Delivery, why.Message)))
	}
	wanted, err := t.Answer(struct {
		Schema   string     `json:"schema"`
		Replayed []replayed `json:"replayed"`
	}{runtime.Schema, done})
	if wanted || err != nil {
		return cmp.Or(err, failed)
	}
	for _, r := range done {
		what := ""
		switch {
		case r.Run != "":
			what = " run " + r.Run
		case r.Item > 0:
			what = " item " + strconv.FormatUint(r.Item, 10)
		}
		if _, err := fmt.Fprintf(t.Out, "%s %s/%s%s\n", r.Status, r.Webhook, r.Delivery, what); err != nil {
			return err
		}
	}
	return failed
}

// again does what one delivery asked for.
func (t Terminal) again(ctx context.Context, file *project.File, k Kept) (Answer, error) {
	hook, ok := file.Webhook(k.Webhook)
	if !ok {
		return Answer{}, runtime.Refusef(runtime.ErrUsage, "there is no webhook %q any more", k.Webhook)
	}
	posted, err := document("application/json", k.Posted)
	if err != nil {
		return Answer{}, err
	}
	return t.carryOut(ctx, delivery{hook: hook, posted: posted, event: k.Event, id: k.Delivery})
}

// chosen are the deliveries that are named, each by the beginning of what is unique of it.
func chosen(kept []Kept, names []string) (list []Kept, _ error) {
	for _, name := range names {
		var fits []Kept
		for _, k := range kept {
			if strings.HasPrefix(k.Delivery, name) || strings.HasPrefix(k.Webhook+"/"+k.Delivery, name) && strings.Contains(name, "/") {
				fits = append(fits, k)
			}
		}
		switch len(fits) {
		case 0:
			return nil, runtime.Refuse(runtime.ErrUsage, "starling webhooks log says which are kept", "no delivery %q is kept", name)
		case 1:
			list = append(list, fits[0])
		default:
			return nil, runtime.Refuse(runtime.ErrAmbiguous, "write the webhook in front, or more of the id", "the delivery %q is ambiguous: it is that of %d", name, len(fits))
		}
	}
	return list, nil
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
