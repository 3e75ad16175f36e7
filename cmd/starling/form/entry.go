package form

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

// An entry is a place of a form that is to be filled in: the payload, or a field at any depth.
type entry struct {
	name     string
	path     string             // as violations write it, "" for the payload
	contract *contract.Contract // of what is there
	present  starlark.Value     // what stands there now, nil for nothing
	preset   starlark.Value     // what is taken where nothing is given, nil for nothing
	absent   bool               // it may be left out
	free     bool               // anything may stand there, whatever stands there now
	text     bool               // what is typed is text rather than JSON, such as in place of a text
}

// The words that have a record gone through, and what may stay as it is left so.
const (
	wordEdit, wordKeep = "edit", "keep"
	wordFill, wordNone = "fill", "none"
)

// value gives the value of a payload, nil where none is to be sent.
func (f *Form) value(ctx context.Context, e *entry, editable bool) (starlark.Value, error) {
	if yes, no := e.words(editable); yes != "" {
		v, left, err := f.decide(ctx, e, yes, no)
		if left || v != nil || err != nil {
			return v, err
		}
	}
	for {
		v, _, err := f.fill(ctx, e, nil)
		if err != nil {
			return nil, err
		}
		if _, wrong := e.contract.Check(v); len(wrong) == 0 {
			return v, nil
		} else {
			f.wrong(wrong) // of several fields together: each has fitted
		}
	}
}

// words are those between which a person chooses before a payload, "" where there is no choice.
func (e *entry) words(editable bool) (yes, no string) {
	switch {
	case editable:
		return wordEdit, wordKeep
	case e.absent:
		return wordFill, wordNone
	}
	return "", ""
}

// decide asks whether a payload is to be given. It may be given at once, as JSON.
func (f *Form) decide(ctx context.Context, e *entry, yes, no string) (given starlark.Value, left bool, err error) {
	for {
		line, err := f.filled(ctx, yes+"/"+no+"> ")
		switch {
		case err != nil || line == no:
			return nil, true, err
		case line == yes:
			return nil, false, nil
		}
		v, err := contract.FromJSON([]byte(line))
		if err != nil {
			f.wrong(contract.Violations{{Got: strconv.Quote(line), Want: yes + ", " + no + " or JSON"}})
			continue
		}
		if _, wrong := e.contract.Check(v); len(wrong) > 0 && !e.free {
			f.wrong(wrong)
			continue
		}
		return v, false, nil
	}
}

// fill asks for a value, field by field where it has some. outer are the records that begin here,
// of which a line of JSON may give one whole: then whole is that one.
func (f *Form) fill(ctx context.Context, e *entry, outer []*entry) (v starlark.Value, whole *entry, err error) {
	fields := e.fields()
	if len(fields) == 0 {
		return f.one(ctx, e, outer)
	}
	d := e.undeclared()
	begun := append(outer[:len(outer):len(outer)], e)
	for _, field := range fields {
		ask := f.fill
		if len(field.fields()) > 0 && field.omissible() {
			ask = f.one
		}
		v, whole, err := ask(ctx, field, begun)
		switch {
		case err != nil:
			return nil, nil, err
		case whole == e:
			return v, nil, nil
		case whole != nil:
			return v, whole, nil
		case v != nil:
			_ = d.SetKey(starlark.String(field.name), v) // a fresh dict takes any string
		}
		begun = nil
	}
	return d, nil, nil
}

// omissible tells whether an empty line is an answer.
func (e *entry) omissible() bool { return e.present != nil || e.preset != nil || e.absent }

// one asks for a value on a line until it fits. It is nil where it is left out.
func (f *Form) one(ctx context.Context, e *entry, outer []*entry) (starlark.Value, *entry, error) {
	if e.path != "" || e.contract.String() != "any" {
		f.Say("  %s", e.described())
	}
	for {
		line, err := f.Line(ctx, cmp.Or(e.path, "answer")+"> ")
		if err != nil {
			return nil, nil, err
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "" && e.omissible():
			return e.present, nil, nil
		case line == "null" && e.absent:
			return nil, nil, nil
		case line == "" && e.path == "":
			return nil, nil, ErrLeft
		case line == "":
			f.wrong(contract.Violations{{Path: e.path, Got: "nothing", Want: e.contract.Brief(),
				Hint: `"" is the empty text, and the end of the input leaves the gate open`}})
			continue
		case line == wordFill && len(e.fields()) > 0:
			return f.fill(ctx, e, nil)
		}
		v, wrong := e.read(line)
		if len(wrong) == 0 {
			return v, nil, nil
		}
		if strings.HasPrefix(line, "{") {
			for _, o := range outer {
				if v, bad := o.read(line); len(bad) == 0 {
					return v, o, nil
				}
			}
		}
		f.wrong(wrong)
	}
}

// described is a place with what fits it.
func (e *entry) described() string {
	s := cmp.Or(e.path, "the answer") + ": " + e.contract.Brief()
	switch {
	case e.present != nil:
		s += ", now " + brief(e.present)
	case e.preset != nil:
		s += ", " + brief(e.preset) + " by default"
	case e.absent:
		s += ", may be left out"
	}
	if len(e.fields()) > 0 {
		s += `; JSON, or "` + wordFill + `" to go through its fields`
	}
	return s
}

func brief(v starlark.Value) string {
	const most = 60
	text, err := contract.ToJSON(v)
	if err != nil {
		return v.String()
	}
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}

// read gives the value that a line stands for, or what does not fit: of a text where one may stand,
// else of the likeliest reading.
func (e *entry) read(line string) (starlark.Value, contract.Violations) {
	var wrong contract.Violations
	for _, v := range e.readings(line) {
		_, bad := e.contract.Check(v)
		if len(bad) == 0 {
			return v, nil
		}
		if wrong == nil || e.text && v.Type() == "string" {
			wrong = bad
		}
	}
	for i := range wrong {
		wrong[i].Path = contract.JoinPath(e.path, wrong[i].Path)
	}
	return nil, wrong
}

// readings are what a line may stand for, the likeliest first: what is written as JSON, the text
// itself, and a word for a truth value. What begins as a list, a record or a quoted text does is
// JSON where it can be read so.
func (e *entry) readings(line string) (all []starlark.Value) {
	v, err := contract.FromJSON([]byte(line))
	if err == nil && strings.ContainsRune(`"[{`, rune(line[0])) {
		return append(all, v)
	}
	text := e.text && e.contract.String() == "any"
	if err == nil && !text {
		all = append(all, v)
	}
	all = append(all, starlark.String(line))
	switch strings.ToLower(line) {
	case "yes", "y":
		all = append(all, starlark.True)
	case "no", "n":
		all = append(all, starlark.False)
	}
	return all
}

// fields are the places in a record, none where e is no record.
func (e *entry) fields() (fields []*entry) {
	declared, _ := e.contract.Fields()
	now, _ := e.present.(*starlark.Dict)
	for _, d := range declared {
		if d.AgentOnly && !d.Required {
			continue // hidden from whoever is asked
		}
		c, optional := e.contract.Field(d.Name).Present()
		field := &entry{name: d.Name, path: contract.JoinPath(e.path, contract.KeyStep(d.Name)), contract: c,
			preset: d.Default, absent: d.Optional || optional, present: member(now, d.Name)}
		_, isText := field.present.(starlark.String)
		field.text = d.AdmitsString && (isText || c.String() != "any")
		fields = append(fields, field)
	}
	return fields
}

// undeclared is what stands in an open record beside its fields: it stays.
func (e *entry) undeclared() *starlark.Dict {
	d := new(starlark.Dict)
	if now, ok := e.present.(*starlark.Dict); ok && e.contract.Open() {
		for _, item := range now.Items() {
			if name, _ := starlark.AsString(item[0]); e.contract.Field(name) == nil {
				_ = d.SetKey(item[0], item[1]) // a fresh dict takes any string
			}
		}
	}
	return d
}

func member(d *starlark.Dict, name string) starlark.Value {
	if d == nil {
		return nil
	}
	v, _, _ := d.Get(starlark.String(name))
	if v == starlark.None {
		return nil
	}
	return v
}
