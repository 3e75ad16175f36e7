package stdlib

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// artifactBuiltin keeps what a script has made beside what its steps leave by themselves.
func artifactBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "artifact",
		Doc:      "Keep something as an artifact of this step, such as a report, and give its SHA-256. People get it with starling artifacts RUN STEP --out DIR.",
		Params: []effect.Param{
			{Name: "file", Type: "string", Doc: "What the file is called, such as \"report.md\"."},
			{Name: "content", Doc: "Text or bytes as they are, anything else as JSON."},
			nameParam("the function's name"),
		},
		Result: "string",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			name, err := stepName(c, c.Builtin.FullName)
			if err != nil {
				return nil, err
			}
			if err := effect.CheckName(c.Text("file", "")); err != nil {
				return nil, wrong(c, "file", "%w", err)
			}
			r, err := request(c, "artifact", name, "file", "content")
			if err == nil {
				r.Policy = effect.Policy{Idempotent: true, OnUncertain: effect.Retry}
			}
			return r, err
		},
	}
}

// artifactHandler performs requests of kind "artifact".
func artifactHandler() *effect.Handler {
	return &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
		args := effect.ViewOf(a.Args)
		var text []byte
		switch v := args.Value("content").(type) {
		case starlark.String, starlark.Bytes:
			text = content(v)
		default:
			encoded, err := contract.ToJSON(v)
			if err != nil {
				return effect.Reply{Err: effect.Errorf(effect.KindEffect, "artifact: %v", err)}
			}
			text = append(encoded, '\n')
		}
		sum := sha256.Sum256(text)
		return effect.Reply{Value: starlark.String(hex.EncodeToString(sum[:])), Blobs: map[string][]byte{args.Text("file"): text}}
	}}
}
