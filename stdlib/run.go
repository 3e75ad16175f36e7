package stdlib

import (
	"cmp"
	"path"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

func runBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "run",
		Doc: "Run another script as a child and wait for what its main returns. Its gates are visible from the top, and it is cancelled with " +
			"its parent.",
		Params: []effect.Param{
			{Name: "script", Type: "string", Doc: "Path of the script, relative to this one's folder: a literal, which is pinned when the parent starts. Or NAME or NAME@VERSION of one that is defined, pinned when it is started."},
			{Name: "inputs", Type: "dict", Default: "{}", Doc: "Inputs of the child, checked before it exists."},
			{Name: "labels", Type: "dict", Default: "None", KeywordOnly: true,
				Doc: "Labels of the child, such as {\"team\": \"web\"}, in place of this run's, which it has otherwise; {} for none."},
			timeoutParam("Of the whole child; none by default."),
			onErrorParam("an Outcome"),
			nameParam("the script's stem"),
		},
		Class: effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			name, err := childName(c)
			if err != nil {
				return nil, err
			}
			if err := cmp.Or(positive(c, "timeout"), checkLabels(c)); err != nil {
				return nil, err
			}
			r, err := request(c, "run", name, "script", "inputs", "labels", "name", "timeout")
			if err != nil {
				return nil, err
			}
			r.Policy = effect.Policy{Timeout: c.Duration("timeout", 0), OnError: onError(c)}
			return r, nil
		},
	}
}

// checkLabels refuses labels that no run can have.
func checkLabels(c *effect.Call) error {
	d, ok := c.Get("labels").(*starlark.Dict)
	if !ok {
		return nil // there are none: what else it may be is refused by its type
	}
	labels := effect.Labels{}
	for k, v := range d.Entries() {
		name, isName := starlark.AsString(k)
		value, isText := starlark.AsString(v)
		if !isName || !isText {
			return wrong(c, "labels", "got %s: %s, want texts", k, v)
		}
		labels[name] = value
	}
	if err := labels.Check(); err != nil {
		return wrong(c, "labels", "%w", err)
	}
	return nil
}

// childName is the name of the step, which is also a segment of the addresses of all that the child
// does.
func childName(c *effect.Call) (string, error) {
	script := c.Text("script", "")
	if script == "" {
		return "", wrong(c, "script", "got an empty path")
	}
	if c.Get("name") == nil && effect.CheckName(stem(script)) != nil {
		return "", wrong(c, "script", "the step cannot be called %q; pass name = \"…\"", stem(script))
	}
	return stepName(c, stem(script))
}

// stem is a path's last element without its extension, or the name of a definition without its
// version.
func stem(script string) string {
	base, _, _ := strings.Cut(path.Base(script), "@")
	return strings.TrimSuffix(base, path.Ext(base))
}
