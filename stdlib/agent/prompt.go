package agent

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// Agents that do not read the request as JSON are told of it in words: what to do first, then what
// on, then what the reply must be. Whoever reads the prompt has the same facts as a program that
// reads the record.

// prompt writes a request in words, the instructions first. continued says that the agent has what
// was asked before it and only needs to hear why its reply was not accepted.
func prompt(q Question, continued bool) (string, error) {
	continued = continued && !q.GoesOn
	text, err := words(q, continued)
	if told := strings.TrimSpace(request{q.Request}.text("instructions")); told != "" && !continued {
		text = told + "\n\n" + text
	}
	return text, err
}

// words is a prompt without the instructions.
func words(q Question, continued bool) (string, error) {
	r := request{q.Request}
	var p paragraphs
	for _, m := range q.Messages {
		p.told(m)
	}
	if q.Cut {
		p.cutOff(continued)
	}
	if !continued {
		p.handedOver(r.field("handoff"))
		p.said(r.field("memory"))
		p.add(r.text("task"))
		p.json("Input", r.field("input"))
		p.json("Context", r.field("context"))
		p.constraints(r.field("handoff"))
		p.files(q.Files, q.Definition.apart())
	}
	p.feedback(q.Feedback)
	if q.Returns != "" {
		p.json("Reply with one JSON value that meets this JSON Schema, and with nothing else", r.field("output_schema"))
	}
	if p.err == nil && len(p.parts) == 0 {
		p.add("Say what you have to say.")
	}
	return strings.Join(p.parts, "\n\n"), p.err
}

// request reads the record that agents are sent.
type request struct{ record *effect.Record }

func (r request) field(name string) starlark.Value { return r.record.Field(name) }

func (r request) text(name string) string {
	s, _ := starlark.AsString(r.field(name))
	return s
}

// paragraphs are the parts of a prompt.
type paragraphs struct {
	parts []string
	err   error
}

func (p *paragraphs) add(text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.parts = append(p.parts, text)
	}
}

// told adds what the agent was told while it worked.
func (p *paragraphs) told(message string) { p.add("While you work on this you are told: " + message) }

// cutOff says what is known after an attempt was cut. continued says that the agent has its
// conversation.
func (p *paragraphs) cutOff(continued bool) {
	if continued {
		p.add("You were cut off while you worked on this: the program that had asked you has ended. What you " +
			"did last may be half done. Look at what is there before you do anything again, and then go " +
			"on with what you were asked.")
		return
	}
	p.add("This was begun before, and cut off while it was worked on; that conversation is lost. Some of " +
		"the work may be done or half done. Look at what is there before you begin.")
}

// json adds a value under a title; None is nothing.
func (p *paragraphs) json(title string, v starlark.Value) {
	if v == nil || v == starlark.None {
		return
	}
	if d, ok := v.(*starlark.Dict); ok && d.Len() == 0 {
		return
	}
	text, err := contract.ToJSON(v)
	if err != nil {
		p.err = err
		return
	}
	p.add(title + ":\n```json\n" + string(text) + "\n```")
}

func (p *paragraphs) handedOver(handoff starlark.Value) {
	if d, ok := handoff.(*starlark.Dict); ok {
		if from := effect.ViewOf(d).Text("from"); from != "" {
			p.add(fmt.Sprintf("%s hands this work over to you.", from))
		}
	}
}

// said tells what was said in the chat of the request, one entry a paragraph.
func (p *paragraphs) said(chat starlark.Value) {
	list, ok := chat.(*starlark.List)
	if !ok || list.Len() == 0 {
		return
	}
	p.add("What was said before:")
	for e := range list.Elements() {
		v := effect.ViewOf(e)
		who := v.Text("by")
		if to := v.Text("to"); to != "" {
			who += " to " + to
		}
		p.add(who + ": " + v.Text("text"))
	}
	p.add("What is asked of you now:")
}

func (p *paragraphs) constraints(handoff starlark.Value) {
	d, ok := handoff.(*starlark.Dict)
	if !ok {
		return
	}
	if list, ok := effect.ViewOf(d).Value("constraints").(*starlark.List); ok && list.Len() > 0 {
		p.json("Keep to these constraints", list)
	}
}

// files names what goes with the task. Whoever is apart is given the content and finds no path.
func (p *paragraphs) files(list []file, apart bool) {
	if len(list) == 0 {
		return
	}
	lines := []string{"These files belong to it:"}
	for _, f := range list {
		line := fmt.Sprintf("- %s (%s)", f.name, f.kind)
		if !apart {
			line += ": " + f.path
		}
		lines = append(lines, line)
	}
	p.add(strings.Join(lines, "\n"))
}

func (p *paragraphs) feedback(list []contract.Violation) {
	if len(list) == 0 {
		return
	}
	lines := []string{"Your previous reply was not accepted. Reply again, whole. What was wrong with it:"}
	for _, v := range list {
		lines = append(lines, "- "+v.Error())
	}
	p.add(strings.Join(lines, "\n"))
}

// strictSchema is the contract of the reply as model APIs and coding agents take it, nil where they
// would refuse it.
func strictSchema(q Question) []byte {
	c, err := contract.Parse("output", q.Returns)
	if q.Returns == "" || err != nil {
		return nil
	}
	s := c.Schema(contract.Strict)
	if len(s.Unfit) > 0 {
		return nil
	}
	return s.JSON()
}

// fromStrict reads a reply that was made for strictSchema: null stands for what is absent. What
// does not meet the contract stays as it is but for these nulls, so that the paths at fault are
// told, and none that the schema asks for.
func fromStrict(q Question, text []byte) (starlark.Value, bool) {
	v, err := contract.FromJSON(text)
	if err != nil {
		return nil, false
	}
	c, err := contract.Parse("output", q.Returns)
	if err != nil {
		return v, true
	}
	if checked, wrong := c.CheckAs(contract.Strict, v); len(wrong) == 0 {
		return checked, true
	}
	return c.WithoutNulls(v), true
}
