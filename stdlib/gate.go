package stdlib

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

const (
	maxOptions = 100
	maxQuorum  = 100
)

func gateBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "gate",
		Doc: "Suspend until somebody decides. With wait = False the gate opens, a handle comes back at once, and handle.decision() suspends. " +
			"A Decision has no truth value: use .choice.",
		Params: []effect.Param{
			{Name: "name", Type: "string", Doc: "The gate's name, by which it is answered."},
			{Name: "prompt", Type: "string", Default: `""`, KeywordOnly: true, Doc: "The question."},
			{Name: "options", Type: "list|tuple|dict", Default: "None", KeywordOnly: true,
				Doc: "Names to choose from, or a dict of name and description; without any the payload is free form."},
			{Name: "target", Type: "string", Default: "None", KeywordOnly: true, Doc: "Who may decide; anybody by default. With escalate, that says who."},
			{Name: "not_by", Default: "None", KeywordOnly: true,
				Doc: "Who must not decide: a name, a Result, a Decision, or a list of such. Who has made something does not approve of it."},
			{Name: "data", Default: "None", KeywordOnly: true, Doc: "What the decision is about."},
			{Name: "data_schema", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What the data is: it is checked, and people are not shown its @agent fields."},
			{Name: "schema", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What the payload of an answer must be."},
			timeoutParam("How long the gate stays open; for ever by default. The clock runs while nothing else does."),
			{Name: "fallback", Default: "None", KeywordOnly: true, Doc: "What decides at the deadline: an option, or a payload where there are none."},
			{Name: "on_timeout", Type: "string", Default: `"fail"`, OneOf: []string{"fail", "return"}, KeywordOnly: true,
				Doc: "At the deadline without a fallback: fail raises, return gives a Decision that is .timed_out."},
			{Name: "escalate", Type: "list|tuple", Default: "None", KeywordOnly: true,
				Doc: "Whom to ask in turn, as (target, duration) pairs: each may decide until its time is over."},
			{Name: "quorum", Type: "int", Least: 1, Most: maxQuorum, Default: "1", KeywordOnly: true, Doc: "How many must choose the same."},
			{Name: "editable", Type: "bool", Default: "False", KeywordOnly: true, Doc: "Whether who decides may change the data."},
			{Name: "wait", Type: "bool", Default: "True", KeywordOnly: true, Doc: "False opens the gate and goes on."},
		},
		Result:  "Decision",
		Class:   effect.Waiting,
		Request: gateRequest,
	}
}

// gateRequest checks all that a gate says before it opens. A mistake that showed at the deadline,
// such as a fallback that is no option, would be found by nobody until then.
func gateRequest(c *effect.Call) (*effect.Request, error) {
	name, err := stepName(c, "")
	if err != nil {
		return nil, err
	}
	for _, check := range []func(*effect.Call) error{checkOptions, checkData, checkDeadline, checkEscalation, checkFallback, checkQuorum, checkNotBy} {
		if err := check(c); err != nil {
			return nil, err
		}
	}
	r, err := request(c, "gate", name, "name", "prompt", "options", "target", "not_by", "data", "data_schema", "schema", "timeout", "fallback", "on_timeout", "escalate",
		"quorum", "editable")
	if err != nil {
		return nil, err
	}
	r.Policy.Timeout = c.Duration("timeout", 0)
	if !c.Flag("wait", true) {
		r.Class = effect.Open
	}
	return r, nil
}

// options lists the names to choose from.
func options(c *effect.Call) ([]string, error) {
	names, err := texts(c, "options")
	if d, ok := c.Get("options").(*starlark.Dict); ok && err == nil {
		for k, v := range d.Entries() {
			if _, ok := starlark.AsString(v); !ok {
				return nil, wrong(c, "options", "%s: got %s, want its description", k, v.Type())
			}
		}
	}
	return names, err
}

// checkOptions wants names that can be typed after --choice, and each once.
func checkOptions(c *effect.Call) error {
	names, err := options(c)
	if err != nil {
		return err
	}
	if len(names) > maxOptions {
		return wrong(c, "options", "got %d, want at most %d", len(names), maxOptions)
	}
	seen := map[string]bool{}
	for _, n := range names {
		if err := effect.CheckName(n); err != nil {
			return wrong(c, "options", "%w", err)
		}
		if seen[n] {
			return wrong(c, "options", "%q is there twice", n)
		}
		seen[n] = true
	}
	if t, ok := c.Get("target").(starlark.String); ok && t == "" {
		return wrong(c, "target", "got an empty name; leave it out to let anybody decide")
	}
	return nil
}

// checkData holds the data against its schema here, since by it people are not shown what is for
// agents.
func checkData(c *effect.Call) error {
	schema, data := contractOf(c, "data_schema"), c.Get("data")
	if schema == nil {
		return nil
	}
	if data == nil {
		data = starlark.None
	}
	if _, violations := schema.Check(data); len(violations) > 0 {
		return wrong(c, "data", "it does not meet the data_schema: %w", violations.Err())
	}
	return nil
}

func checkDeadline(c *effect.Call) error {
	if err := positive(c, "timeout"); err != nil {
		return err
	}
	if c.Get("timeout") != nil || c.Get("escalate") != nil {
		return nil
	}
	for _, p := range []string{"fallback", "on_timeout"} {
		if v := c.Get(p); v != nil && v != starlark.String("fail") {
			return wrong(c, p, "it never applies without a deadline; add timeout = \"2h\"")
		}
	}
	return nil
}

func checkEscalation(c *effect.Call) error {
	v, ok := c.Get("escalate").(starlark.Iterable)
	if !ok {
		return nil
	}
	i := 0
	for e := range starlark.Elements(v) {
		if !isStage(e) {
			return wrong(c, "escalate", "[%d]: got %s, want a pair of target and duration, such as (\"lead\", \"1h\")", i, e)
		}
		i++
	}
	if i == 0 {
		return wrong(c, "escalate", "got an empty list; leave it out")
	}
	return nil
}

func isStage(v starlark.Value) bool {
	pair, ok := v.(starlark.Indexable)
	if !ok || pair.Len() != 2 {
		return false
	}
	target, named := starlark.AsString(pair.Index(0))
	text, timed := starlark.AsString(pair.Index(1))
	if !named || !timed || target == "" {
		return false
	}
	d, err := contract.ParseDuration(text)
	return err == nil && d > 0
}

// checkFallback: what decides at the deadline must be what a person could have decided.
func checkFallback(c *effect.Call) error {
	v := c.Get("fallback")
	if v == nil {
		return nil
	}
	names, err := options(c)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return checkFreeFallback(c, v)
	}
	choice, _ := starlark.AsString(v)
	for _, n := range names {
		if choice == n {
			return nil
		}
	}
	err = fmt.Errorf("got %s, want one of the options %s", v, strings.Join(names, ", "))
	if hint := diagnostic.DidYouMean(choice, names); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return wrong(c, "fallback", "%w", err)
}

func checkFreeFallback(c *effect.Call, v starlark.Value) error {
	schema := contractOf(c, "schema")
	if schema == nil {
		return nil
	}
	if _, violations := schema.Check(v); len(violations) > 0 {
		return wrong(c, "fallback", "it does not meet the schema: %w", violations.Err())
	}
	return nil
}

func checkQuorum(c *effect.Call) error {
	_, err := c.Count("quorum", 1)
	return err
}
