package form

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// A Form is where a person reads and writes. It belongs to one goroutine.
type Form struct {
	// Line asks for a line. Its errors, such as io.EOF, end the form and leave the gate open.
	Line func(ctx context.Context, prompt string) (string, error)
	// Say shows a line.
	Say func(format string, args ...any)
}

// ErrLeft says that an empty line has left the gate open.
var ErrLeft = errors.New("left open")

// Answer asks until there is an answer that fits the gate, and gives it as a signal that is not
// sent yet. The error is ErrLeft, or that of Line.
func (f *Form) Answer(ctx context.Context, g runtime.Gate) (sig runtime.Signal, err error) {
	for i, o := range g.Options {
		f.Say("  %d) %s", i+1, described(o))
	}
	run, gate, _ := strings.Cut(g.Address, "/")
	sig = runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: gate}
	if len(g.Options) > 0 {
		if sig.Choice, sig.Reason, err = f.choose(ctx, g.Options); err != nil {
			return sig, err
		}
	}
	if len(g.Options) == 0 || g.Contract != "" || g.Editable {
		sig.Data, err = f.payload(ctx, g)
	}
	return sig, err
}

// described is an option without a name that is a number, beside which its own would mislead.
func described(o runtime.Option) string {
	if o.Description == "" {
		return o.Name
	}
	if _, err := strconv.Atoi(o.Name); err == nil {
		return o.Description
	}
	return o.Name + ": " + o.Description
}

// choose asks for an option and the reason behind it.
func (f *Form) choose(ctx context.Context, options []runtime.Option) (choice, reason string, err error) {
	for {
		line, err := f.filled(ctx, promptFor(options))
		if err != nil {
			return "", "", err
		}
		choice, reason, err := chosen(options, line)
		if err == nil {
			return choice, reason, nil
		}
		f.wrong(err)
	}
}

// promptFor names the options, unless they are too many for a line.
func promptFor(options []runtime.Option) string {
	const most = 40
	if names := strings.Join(namesOf(options), "/"); len(names) <= most {
		return names + "> "
	}
	return "> "
}

func namesOf(options []runtime.Option) []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Name
	}
	return names
}

// chosen reads the number or name of an option with a reason behind it, or a reason alone. The
// number comes first: that is what stands on the screen, whatever the options are called.
func chosen(options []runtime.Option, line string) (choice, reason string, err error) {
	names := namesOf(options)
	first, rest, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(first)
	at := n - 1
	if err != nil || at < 0 || at >= len(names) {
		at = slices.Index(names, first)
	}
	if at < 0 && err != nil {
		at, rest = slices.Index(names, "other"), line
	}
	if at < 0 {
		return "", "", diagnostic.Diagnostic{Got: strconv.Quote(first),
			Want: "a number from 1 to " + strconv.Itoa(len(names)) + ", or a name", Hint: diagnostic.Meant(first, names)}
	}
	return names[at], strings.TrimSpace(rest), nil
}

// payload asks for what a gate wants beside a choice; nil means that nothing is sent.
func (f *Form) payload(ctx context.Context, g runtime.Gate) (json.RawMessage, error) {
	e, err := entryOf(g)
	if err != nil {
		return nil, err
	}
	v, err := f.value(ctx, e, g.Editable)
	if err != nil || v == nil {
		return nil, err
	}
	return contract.ToJSON(v)
}

func entryOf(g runtime.Gate) (*entry, error) {
	e := &entry{}
	if g.Editable {
		e.present = presentOf(g.Data)
	}
	text := g.Contract
	if e.free = text == ""; e.free {
		text = contractOf(e.present)
	}
	c, err := contract.Parse("", text)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrInternal, "gate %s: its contract: %v", g.Address, err)
	}
	e.contract, e.absent = c.Present()
	return e, nil
}

// contractOf is a contract of data that has none: it has the fields that stand there, with whatever
// is put there. More may be added as JSON.
func contractOf(v starlark.Value) string {
	d, ok := v.(*starlark.Dict)
	if !ok || d.Len() == 0 {
		return "any"
	}
	var b strings.Builder
	b.WriteString("{")
	for _, k := range d.Keys() {
		name, _ := starlark.AsString(k)
		quoted, _ := json.Marshal(name) // a text
		b.WriteString(string(quoted) + "?: any, ")
	}
	return b.String() + "*: any}"
}

// presentOf is the data of a gate as it is shown, nil for none.
func presentOf(data json.RawMessage) starlark.Value {
	v, err := contract.FromJSON(data)
	if err != nil || v == starlark.None {
		return nil
	}
	return v
}

// filled asks for a line that must not be empty.
func (f *Form) filled(ctx context.Context, prompt string) (string, error) {
	line, err := f.Line(ctx, prompt)
	if line = strings.TrimSpace(line); err == nil && line == "" {
		err = ErrLeft
	}
	return line, err
}

// wrong says what does not fit, and where.
func (f *Form) wrong(err error) {
	var list contract.Violations
	if !errors.As(err, &list) {
		f.Say("error: %v", err)
		return
	}
	for _, v := range list {
		f.Say("error: %v", v)
	}
}
