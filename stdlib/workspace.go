package stdlib

import (
	"regexp"
	"sync"

	"starling/lang/effect"
	"starling/stdlib/jail"
)

// workspaceModule keeps and restores the work in the workspace's repository. Each call finds what
// an earlier attempt of it has done, so that a crash is followed by another attempt.
func workspaceModule() []*effect.Builtin {
	since := effect.Param{Name: "since", Type: "string", Default: "None", KeywordOnly: true, Doc: "A checkpoint or a commit; the last commit by default."}
	return []*effect.Builtin{
		workspaceBuiltin("head", "string|None", "The commit that the workspace stands at, in hexadecimal; None where there is no repository, or no commit yet."),
		workspaceBuiltin("checkpoint", "string", "Keep the index, all files that are not ignored and HEAD, without changing any of them. It gives what rollback and diff are to be told.",
			effect.Param{Name: "ignored", Type: "bool", Default: "False", KeywordOnly: true, Doc: "Keep the files that git does not see as well, in the store, for restore_ignored."}),
		workspaceBuiltin("rollback", "dict", "Restore files, index and HEAD as a checkpoint has them; files that were created since and are not ignored are removed. "+
			"What there was is kept in the repository and as the artifact undone.patch. It gives the dict of diff, of what was undone.",
			effect.Param{Name: "checkpoint", Type: "string", Doc: "What checkpoint gave."},
			effect.Param{Name: "paths", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "Only these files; then index and HEAD stay."}),
		workspaceBuiltin("restore_ignored", "dict", "Make the files that git does not see what they were at a checkpoint that has kept them: what is new is taken away, what was changed or removed is put back. "+
			"So are hooks and settings of git (\".git/hooks/pre-commit\"), and repositories made within the workspace. It gives a dict of files, the paths of these, and left, those that are not as they were and cannot be put back: of a file of more than 16 MiB, or after 512 MiB, only a digest is kept. "+
			"What lies in a folder with a CACHEDIR.TAG is taken away where it has changed. What was taken away stays in the store for a month, below ignored/undone.",
			effect.Param{Name: "checkpoint", Type: "string", Doc: "What checkpoint(ignored = True) gave."},
			effect.Param{Name: "spare", Type: "list|tuple", Default: "[]", KeywordOnly: true, Doc: "Patterns of files that stay as they are, such as the database of a server that runs."}),
		workspaceBuiltin("diff", "{files: list[string], patch: string, truncated: bool}", "What has changed, tracked or not: a dict of files, the paths; patch, the end of which is cut when it is long; and truncated. All of it is the artifact diff.patch.", since),
		workspaceBuiltin("commit", "string|None", "Commit what has changed, on the branch that is checked out, and give the commit, None when nothing has. What else is staged stays staged; no hooks are run.",
			effect.Param{Name: "message", Type: "string", Doc: "The message of the commit."},
			effect.Param{Name: "paths", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "Only these files, and what is below these folders."}, since),
	}
}

func workspaceBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: "workspace." + name,
		Doc:      doc,
		Params:   append(params, nameParam("the function's name")),
		Result:   result,
		Class:    effect.Waiting,
		Request:  func(c *effect.Call) (*effect.Request, error) { return workspaceRequest(c, name) },
	}
}

var (
	checkpointName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{24}$`) })
	commitName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })
)

// workspaceRequest sends on all that was given by name: what each function takes is in its
// parameters, once.
func workspaceRequest(c *effect.Call, operation string) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	var o effect.Object
	o.Text("do", operation)
	for _, p := range c.Builtin.Params {
		if c.Get(p.Name) == nil || p.Name == "name" {
			continue
		}
		if err := checkWorkspace(c, p.Name); err != nil {
			return nil, err
		}
		v, err := arguments(c, p.Name)
		if err != nil {
			return nil, err
		}
		view, err := v.View()
		if err != nil {
			return nil, err
		}
		o.Raw(p.Name, view.Raw(p.Name))
	}
	return &effect.Request{Class: effect.Waiting, Kind: "workspace", Name: name, Args: o.Payload(),
		Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}, nil
}

func checkWorkspace(c *effect.Call, param string) error {
	text := c.Text
	switch param {
	case "checkpoint", "since":
		if s := text(param, ""); !checkpointName().MatchString(s) && (param != "since" || !commitName().MatchString(s)) {
			return wrong(c, param, "got %q, want what workspace.checkpoint() gave", s)
		}
	case "spare":
		_, err := patternsOf(c, param)
		return err
	case "message":
		if text(param, "") == "" {
			return wrong(c, param, "got an empty message")
		}
	case "paths":
		paths, err := texts(c, param)
		if err != nil {
			return err
		}
		for i, p := range paths {
			if err := jail.Check(p); err != nil {
				return wrong(c, param, "[%d]: %w", i, err)
			}
		}
	}
	return nil
}
