package stdlib

import (
	"regexp"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
)

// fsModule reads and changes the files of the workspace. Each call may be repeated without harm: a
// write by the content that it leaves, a removal by its being gone. So an attempt that a crash cut
// is simply made again.
func fsModule() []*effect.Builtin {
	path := effect.Param{Name: "path", Type: "string", Doc: "Within the workspace, with slashes. Links are followed as long as they stay in it."}
	folder := path
	folder.Default = `"."`
	return []*effect.Builtin{
		fsBuiltin("read", "string", "Read a file of the workspace, of 1 MB at most.", path,
			effect.Param{Name: "binary", Type: "bool", Default: "False", KeywordOnly: true, Doc: "Give bytes; otherwise the file must be text in UTF-8."}),
		fsBuiltin("write", "None", "Give a file of the workspace its content, whole or not at all. Folders that are missing are made; a file that is replaced keeps its permissions.",
			path, effect.Param{Name: "content", Type: "string|bytes", Doc: "All that the file is to hold."},
			effect.Param{Name: "was", Type: "string", Default: "None", KeywordOnly: true,
				Doc: "digest.sha256 of what it must hold now, \"\" for no file. One that holds something else, but for the new content, is left alone: an error of kind refused whose data has the reason \"changed\"."}),
		fsBuiltin("list", "list[string]", "Name what is in a folder of the workspace, sorted. The names of folders end with a slash.", folder),
		fsBuiltin("exists", "bool", "Whether there is a file or folder at a path of the workspace.", path),
		fsBuiltin("remove", "None", "Remove a file, a link or an empty folder of the workspace. What is not there is removed already.", path,
			effect.Param{Name: "recursive", Type: "bool", Default: "False", KeywordOnly: true, Doc: "Remove a folder with all that is in it."}),
		fsBuiltin("glob", "list[string]", "List the paths of the workspace that match a pattern, sorted. Links are not entered, and neither is .git.",
			effect.Param{Name: "pattern", Type: "string", Doc: "Such as \"src/**/*.go\": * and ? stand for characters, ** for any number of folders."}),
		fsBuiltin("grep", "list[{path: string, line: int, text: string}]", "Find the lines of files that a regular expression matches: dicts of path, line and text, by path. Files that are larger than 1 MB or no text are passed over.",
			effect.Param{Name: "regexp", Type: "string", Doc: "In the syntax of RE2, for one line each."},
			effect.Param{Name: "pattern", Type: "string", Default: `"**"`, Doc: "Which files, as for fs.glob."},
			effect.Param{Name: "limit", Type: "int", Least: 1, Most: maxLines, Default: "1000", KeywordOnly: true, Doc: "More lines than so many are an error."}),
	}
}

func fsBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: "fs." + name,
		Doc:      doc,
		Params:   append(params, nameParam("the function's name")),
		Result:   result,
		Class:    effect.Waiting,
		Request:  func(c *effect.Call) (*effect.Request, error) { return fsRequest(c, name) },
	}
}

// maxLines is how many lines fs.grep may be asked for.
const maxLines = 100_000

var sha256Text = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// fsRequest checks a path before the call becomes a step: one that leads out of the workspace must
// not even be recorded as wanted.
func fsRequest(c *effect.Call, operation string) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	param, check, otherwise := "path", jail.Check, "."
	if operation == "glob" || operation == "grep" {
		param, check, otherwise = "pattern", jail.CheckPattern, "**"
	}
	at := c.Text(param, otherwise)
	if err := check(at); err != nil {
		return nil, wrong(c, param, "%w", err)
	}
	var o effect.Object
	o.Text("do", operation).Text("path", at)
	for _, p := range c.Builtin.Params {
		switch p.Name {
		case "content":
			content, err := effect.Encode(c.Get(p.Name))
			if err != nil {
				return nil, wrong(c, p.Name, "%w", err)
			}
			o.Raw(p.Name, content)
		case "regexp":
			if err := checkRegexp(c, p.Name); err != nil {
				return nil, err
			}
			o.Text(p.Name, c.Text(p.Name, ""))
		case "limit":
			limit, err := c.Count(p.Name, 1000)
			if err != nil {
				return nil, err
			}
			o.Int(p.Name, int64(limit))
		case "was":
			if was, ok := c.Get(p.Name).(starlark.String); ok {
				if was != "" && !sha256Text().MatchString(string(was)) {
					return nil, wrong(c, p.Name, "got %s, want what digest.sha256 gives, or \"\"", was)
				}
				o.Raw(p.Name, effect.MustEncode(was))
			}
		case "binary", "recursive":
			o.Flag(p.Name, c.Flag(p.Name, false))
		}
	}
	return &effect.Request{Class: effect.Waiting, Kind: "fs", Name: name, Args: o.Payload(),
		Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}, nil
}

func checkRegexp(c *effect.Call, param string) error {
	text := c.Text(param, "")
	if len(text) > MaxPattern {
		return wrong(c, param, "got %d bytes, want at most %d", len(text), MaxPattern)
	}
	if _, err := regexp.Compile(text); err != nil {
		return wrong(c, param, "%w", err)
	}
	return nil
}

// textList makes a list of texts.
func textList(texts []string) *starlark.List {
	values := make([]starlark.Value, len(texts))
	for i, t := range texts {
		values[i] = starlark.String(t)
	}
	return starlark.NewList(values)
}
