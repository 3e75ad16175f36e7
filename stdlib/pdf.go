package stdlib

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/pdf"
)

// pdfTime is what making a file may take, with looking through thousands of fonts.
const pdfTime = 2 * time.Minute

// pdfModule makes files for people. What comes out depends on the fonts of the machine, so it is a
// request: a replay has the same bytes.
func pdfModule() []*effect.Builtin {
	return []*effect.Builtin{{
		FullName: "pdf.make",
		Doc: "Make a PDF file of plain text and give its bytes, for fs.write or artifact. Pages are A4, and the fonts are in the file. It has all writing systems, from right to left too. Go Regular " +
			"comes along and has Latin, Greek and Cyrillic; of the rest, a character that no installed font has is an error that names it.",
		Params: []effect.Param{
			{Name: "body", Type: "string", Doc: "The text. A line break ends a paragraph, a form feed (\\f) a page; lines are broken where they must be."},
			{Name: "title", Type: "string", Default: `""`, Doc: "What stands above it, larger, and is the file's title."},
			nameParam("the function's name"),
		},
		Result: "bytes",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			name, err := stepName(c, c.Builtin.FullName)
			if err != nil {
				return nil, err
			}
			for _, p := range []string{"body", "title"} {
				if text := c.Text(p, ""); !utf8.ValidString(text) {
					return nil, wrong(c, p, "got a text that is not UTF-8")
				} else if len(text) > pdf.MaxText {
					return nil, wrong(c, p, "got %d bytes, want %d at most: make several files", len(text), pdf.MaxText)
				}
			}
			r, err := request(c, "pdf", name, "body", "title")
			if err == nil {
				r.Policy = effect.Policy{Timeout: pdfTime, Idempotent: true, OnUncertain: effect.Retry}
			}
			return r, err
		},
	}}
}

// pdfHandler performs requests of kind "pdf", one after the other: each may take some hundred MB
// while it is laid out.
func pdfHandler(folders func() []string) *effect.Handler {
	turn := make(chan struct{}, 1)
	return &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "pdf.make: %v", ctx.Err())}
		}
		args := effect.ViewOf(a.Args)
		file, err := pdf.Make(ctx, pdf.Document{Title: args.Text("title"), Body: args.Text("body")}, folders())
		if missing := (*pdf.MissingError)(nil); errors.As(err, &missing) {
			return effect.Reply{Err: effect.Errorf(effect.KindRefused, "pdf.make: %v", err)}
		} else if err != nil {
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "pdf.make: %v", err)}
		}
		value := starlark.Bytes(file)
		if _, err := effect.Encode(value); err != nil {
			return effect.Reply{Err: effect.Errorf(effect.KindRefused, "pdf.make: the file has %d bytes, more than a call can give: make several", len(file))}
		}
		return effect.Reply{Value: value}
	}}
}
