package stdlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/project"
)

// fsHandler performs requests of kind "fs".
func fsHandler() *effect.Handler {
	return &effect.Handler{
		Workspace: true,
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			args, err := r.Args.View()
			if err != nil {
				return effect.Errorf(effect.KindRefused, "fs: %v", err)
			}
			right := project.ReadFiles
			if changesFiles(args.Text("do")) {
				right = project.WriteFiles
			}
			return grantedFiles(s, right)
		},
		Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
			v, err := performFile(a)
			if err == nil {
				_, err = effect.Encode(v)
			}
			if err != nil {
				return effect.Reply{Err: fileError(effect.ViewOf(a.Args), err)}
			}
			return effect.Reply{Value: v}
		},
	}
}

func changesFiles(do string) bool { return do == "write" || do == "remove" }

// performFile opens the workspace for each call: what rights there are may change between two, as
// may the folder.
func performFile(a *effect.Attempt) (starlark.Value, error) {
	args := effect.ViewOf(a.Args)
	path, do := args.Text("path"), args.Text("do")
	var rights jail.Rights
	if changesFiles(do) {
		rights = project.Rights(a.Settings)
	}
	tree, err := jail.Open(a.Settings.Workspace, a.Store, rights)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	switch do {
	case "read":
		return readFile(tree, path, args.Flag("binary"))
	case "write":
		if args.Has("was") {
			return starlark.None, tree.Replace(path, content(args.Value("content")), a.Key, args.Text("was"))
		}
		return starlark.None, tree.Write(path, content(args.Value("content")), a.Key)
	case "exists":
		there, err := tree.Exists(path)
		return starlark.Bool(there), err
	case "remove":
		return starlark.None, tree.Remove(path, args.Flag("recursive"))
	case "list":
		names, err := tree.List(path)
		return textList(names), err
	case "glob":
		paths, err := tree.Glob(path)
		return textList(paths), err
	case "grep":
		return grep(tree, path, args.Text("regexp"), int(args.Int("limit")))
	default:
		return nil, fmt.Errorf("this build cannot %s files", do)
	}
}

func readFile(tree *jail.Tree, path string, binary bool) (starlark.Value, error) {
	content, err := tree.Read(path, effect.MaxPayload)
	switch {
	case err != nil:
		return nil, err
	case binary:
		return starlark.Bytes(content), nil
	case !utf8.Valid(content):
		return nil, &jail.Error{Path: path, Err: errors.New("it is not text in UTF-8; pass binary = True for its bytes")}
	}
	return starlark.String(content), nil
}

// grep finds lines. A line takes time in proportion to its length, so that no expression can make
// it long.
func grep(tree *jail.Tree, pattern, expression string, limit int) (starlark.Value, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	paths, err := tree.Glob(pattern)
	if err != nil {
		return nil, err
	}
	found := starlark.NewList(nil)
	for _, path := range paths {
		content, err := tree.Read(path, effect.MaxPayload)
		if err != nil || !utf8.Valid(content) {
			continue // a folder, too large, gone since, no text
		}
		n := 0
		for line := range bytes.Lines(content) {
			n++
			if line = bytes.TrimRight(line, "\r\n"); !re.Match(line) {
				continue
			}
			if found.Len() == limit {
				return nil, &jail.Error{Path: pattern, Err: fmt.Errorf("more than %d lines match %q", limit, expression)}
			}
			if err := found.Append(dictOf([]string{"path", "line", "text"}, starlark.String(path), starlark.MakeInt(n), starlark.String(line))); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func content(v starlark.Value) []byte {
	if b, ok := v.(starlark.Bytes); ok {
		return []byte(b)
	}
	s, _ := starlark.AsString(v)
	return []byte(s)
}

// fileError says which path, and for scripts that decide on it why: error.data.reason.
func fileError(args effect.View, err error) *effect.Error {
	kind, reason := effect.KindEffect, ""
	for _, row := range []struct {
		is     error
		kind   effect.Kind
		reason string
	}{
		{jail.ErrOutside, effect.KindDenied, "outside"},
		{jail.ErrStore, effect.KindDenied, "store"},
		{jail.ErrRepository, effect.KindDenied, "repository"},
		{jail.ErrRights, effect.KindDenied, "rights"},
		{jail.ErrChanged, effect.KindRefused, "changed"},
	} {
		if errors.Is(err, row.is) {
			kind, reason = row.kind, row.reason
		}
	}
	var o effect.Object
	title, path := "sh.run", args.Text("dir")
	if do := args.Text("do"); args.Has("argv") && do != "" {
		title = "measure." + do
	} else if do != "" {
		title, path = "fs."+do, args.Text("path")
	}
	e := effect.Errorf(kind, "%s: %v", title, err)
	e.Data = o.Text("path", path).Text("reason", reason).Payload()
	return e
}

// grantedFiles refuses the files of the workspace to a script of others that is not granted them.
func grantedFiles(s *effect.Settings, right string) *effect.Error {
	g, fault := grant(s)
	if g == nil || slices.Contains(g.Files, right) || slices.Contains(g.Files, project.WriteFiles) {
		return fault
	}
	return effect.Errorf(effect.KindDenied, "the script is not the project's own and is not granted to %s files; add %q to files under [grants.%q] in %s", right, right, s.Grant,
		project.Name)
}

// grant is what a script of others may use, nil for one that is the project's own.
func grant(s *effect.Settings) (*project.Grant, *effect.Error) {
	if s == nil || s.Grant == "" {
		return nil, nil
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "%v", err)
	}
	g := f.Granted(s.Grant)
	return &g, nil
}
