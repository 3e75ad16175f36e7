package stdlib

import (
	"context"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/git"
	"starling/stdlib/jail"
	"starling/stdlib/project"
	"starling/stdlib/window"
)

const (
	packBudget = 8000  // tokens, as all budgets here
	trimBudget = 32000 // what the rules for handoffs of the agents it was made for say
	maxBudget  = 200_000
	maxHistory = 1000
)

// contextModule fits what agents are told into their context windows. Both functions give the same
// for the same: trimming keeps the full text as an artifact, so it is a request too.
func contextModule() []*effect.Builtin {
	budget := func(otherwise string) effect.Param {
		return effect.Param{Name: "budget", Type: "int", Least: 1, Most: maxBudget, Default: otherwise, KeywordOnly: true, Doc: "How many tokens the result may take as JSON. A token is taken for four characters."}
	}
	return []*effect.Builtin{
		contextBuiltin("pack", "{map: any, excerpts: list, left_out: list, tokens: int}", "Pack what an agent should see of the workspace within a budget. It gives a dict of map, all paths that are not ignored, folders closed where it would be long; excerpts, dicts of path, "+
			"first, last, lines and text; left_out, dicts of path and reason; and tokens. A file is whole if it fits its share of the budget. What cannot be made to fit is an error of kind budget.",
			effect.Param{Name: "paths", Type: "list|tuple", Doc: "Files, folders and patterns such as \"src/**/*.go\"."},
			effect.Param{Name: "queries", Type: "list|tuple", Default: "[]", KeywordOnly: true, Doc: "Words: of a file that is cut, the lines around them are kept."},
			budget("8000")),
		contextBuiltin("trim", "dict", "Give what a long run knows within a budget. What fits stays. Otherwise history keeps its last entries, and in place of each output, and of each entry of outputs and "+
			"agent_outputs, stands a dict of summary, tokens, artifact and path: the full text is the artifact context.json. What is still too much is an error of kind budget.",
			effect.Param{Name: "context", Type: "dict", Doc: "Such as {\"target_files\": […], \"history\": […], \"agent_outputs\": {…}}."},
			budget("32000"),
			effect.Param{Name: "history", Type: "int", Most: maxHistory, Default: "2", KeywordOnly: true, Doc: "How many entries of history stay."}),
	}
}

func contextBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: "context." + name,
		Doc:      doc,
		Params:   append(params, nameParam("the function's name")),
		Result:   result,
		Class:    effect.Waiting,
		Request:  func(c *effect.Call) (*effect.Request, error) { return contextRequest(c, name) },
	}
}

// contextRequest is idempotent though it writes an artifact: the same files and the same budget
// give the same.
func contextRequest(c *effect.Call, operation string) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	var o effect.Object
	o.Text("do", operation)
	if operation == "pack" {
		err = packArguments(c, &o)
	} else {
		err = trimArguments(c, &o)
	}
	if err != nil {
		return nil, err
	}
	return &effect.Request{Class: effect.Waiting, Kind: "context", Name: name, Args: o.Payload(),
		Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}, nil
}

func packArguments(c *effect.Call, o *effect.Object) error {
	budget, err := c.Count("budget", packBudget)
	if err != nil {
		return err
	}
	paths, err := texts(c, "paths")
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return wrong(c, "paths", `got none, want files, folders or patterns; "." is all there is`)
	}
	for i, p := range paths {
		if err := jail.CheckPattern(p); err != nil {
			return wrong(c, "paths", "[%d]: %w", i, err)
		}
	}
	queries, err := texts(c, "queries")
	for i, q := range queries {
		if strings.TrimSpace(q) == "" {
			return wrong(c, "queries", "[%d]: got no word", i)
		}
	}
	o.Texts("paths", paths).Texts("queries", queries).Int("budget", int64(budget))
	return err
}

func trimArguments(c *effect.Call, o *effect.Object) error {
	budget, err := c.Count("budget", trimBudget)
	if err != nil {
		return err
	}
	keep, err := c.Count("history", 2)
	if err != nil {
		return err
	}
	given, err := effect.Encode(c.Get("context"))
	if err != nil {
		return wrong(c, "context", "%w", err)
	}
	o.Raw("context", given).Int("budget", int64(budget)).Int("history", int64(keep))
	return nil
}

// contextHandler performs requests of kind "context".
func contextHandler() *effect.Handler {
	return &effect.Handler{
		Workspace: true,
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			args, err := r.Args.View()
			if err != nil {
				return effect.Errorf(effect.KindRefused, "context: %v", err)
			}
			if args.Text("do") == "trim" {
				return nil
			}
			return grantedFiles(s, project.ReadFiles)
		},
		Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			v, blobs, err := performContext(ctx, a)
			if err == nil {
				_, err = effect.Encode(v)
			}
			if err != nil {
				return effect.Reply{Err: contextError(ctx, a, err)}
			}
			return effect.Reply{Value: v, Blobs: blobs}
		},
	}
}

func performContext(ctx context.Context, a *effect.Attempt) (starlark.Value, map[string][]byte, error) {
	args := effect.ViewOf(a.Args)
	if args.Text("do") == "trim" {
		given, _ := args.Value("context").(*starlark.Dict)
		v, full, err := window.Trim(given, int(args.Int("budget")), int(args.Int("history")))
		if err != nil || full == nil {
			return v, nil, err
		}
		return v, map[string][]byte{"context.json": full}, nil
	}
	tree, err := jail.Open(a.Settings.Workspace, a.Store, jail.Rights{})
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	paths, err := workspaceFiles(ctx, a, tree)
	if err != nil {
		return nil, nil, err
	}
	v, err := window.Pack(window.Files{Paths: paths, Read: tree.Read},
		window.Order{Paths: args.Texts("paths"), Queries: args.Texts("queries"), Budget: int(args.Int("budget"))})
	return v, nil, err
}

// workspaceFiles lists all files of the workspace: in a repository those that git does not ignore.
func workspaceFiles(ctx context.Context, a *effect.Attempt, tree *jail.Tree) ([]string, error) {
	r, err := git.Open(gitOptions(a))
	if err == nil {
		defer r.Close()
		return r.Files(ctx)
	}
	if !errors.Is(err, git.ErrNoRepository) {
		return nil, err
	}
	paths, err := tree.Glob("**")
	var files []string
	for _, p := range paths {
		if !strings.HasSuffix(p, "/") {
			files = append(files, p)
		}
	}
	return files, err
}

// contextError says, for scripts that decide on it, how much is too much.
func contextError(ctx context.Context, a *effect.Attempt, err error) *effect.Error {
	title := "context." + effect.ViewOf(a.Args).Text("do")
	var over *window.OverBudget
	switch {
	case errors.As(err, &over):
		e := effect.Errorf(effect.KindBudget, "%s: %v; raise budget or pass less", title, err)
		e.Data = over.Payload()
		return e
	case ctx.Err() != nil:
		return effect.Errorf(effect.KindCancelled, "%s: cancelled", title)
	}
	return effect.Errorf(effect.KindEffect, "%s: %v", title, err)
}
