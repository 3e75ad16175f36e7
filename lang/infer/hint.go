package infer

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/foreign"
)

// What to write instead: the hints of findings, where they are certain.

// named is an atom as a message about its attributes names it.
func (at atom) named() string {
	if at.kind == module {
		return at.obj.path
	}
	return at.typeName()
}

func noneHint(at atom) string {
	if at.obj != nil && at.obj.why == "falls" {
		return "a function gives what stands behind return, and None without one"
	}
	if at.obj != nil && at.obj.why != "" {
		return at.obj.why
	}
	return "it is None here: look with if x != None before"
}

// attributeHint is what to write instead of an attribute, where that is certain.
func attributeHint(x Type, name string) string {
	at := x.atoms[0]
	switch {
	case len(x.atoms) > 1 && x.has(dict):
		return `a dict is read by its keys: x["` + name + `"]`
	case at.kind == dict && at.obj.fields[name] != nil:
		return `write ["` + name + `"]: a dict is read by its keys`
	case at.kind == none:
		return noneHint(at)
	case at.kind == builtin && at.obj != nil && signature(at.obj) != nil:
		return "it is a function, to be called: " + signature(at.obj).Signature()
	case at.recordOf("Handle"):
		return "handle.decision() waits for the Decision of a gate that was opened with wait = False"
	case at.recordOf("Outcome") && len(at.obj.fields) > 0 && resultField(at, foreign.Attribute(name)):
		return "write .value." + foreign.Attribute(name) + ": an Outcome says how a call ended, .value is what it gave"
	case at.recordOf("Outcome") && len(at.obj.fields) > 0 && resultField(at, name):
		return "write .value." + name + ": an Outcome says how a call ended, .value is what it gave"
	case at.kind == tuple && (name == "group" || name == "groups"):
		return "what re finds is a tuple: m[0] is all of it, m[1] the first group"
	}
	if hint := foreign.Method(at.typeName(), name); hint != "" {
		return hint
	}
	if at.kind == list {
		for _, e := range at.obj.elem.atoms {
			switch {
			case contains(e.attributes(), name):
				return "it is a list of these: [x." + name + " for x in xs], or xs[0]." + name
			case e.recordOf("Outcome") && resultField(e, name):
				return "it is a list of Outcomes, one for each branch: [x.value." + name + " for x in xs if x.ok]"
			case e.kind == dict && e.obj.fields[name] != nil:
				return "it is a list of dicts: [x[" + quote(name) + "] for x in xs], or xs[0][" + quote(name) + "]"
			}
		}
	}
	if also := foreign.Attribute(name); contains(at.attributes(), also) {
		return "write ." + also
	}
	meant := contains([]string{"json", "text", "payload", "output", "value"}, name) || contains([]string{"text", "output"}, foreign.Attribute(name))
	if meant && at.recordOf("Decision") {
		return ".choice is the option that was chosen, .payload what was filled in"
	}
	if at.kind == record && held[at.obj.form.Name] != "" && meant {
		return "write ." + held[at.obj.form.Name]
	}
	return ""
}

func resultField(at atom, name string) bool {
	f := at.obj.fields["value"]
	return f != nil && slices.ContainsFunc(f.typ.atoms, func(v atom) bool { return contains(v.attributes(), name) })
}

func attributesOf(what string, has []string) string {
	switch {
	case len(has) == 0:
		return ""
	case len(has) > manyAttributes:
		return "starling doc " + what + " says what it has"
	}
	return "it has " + strings.Join(has, ", ")
}

func operandHint(op syntax.Token, x, y Type) string {
	x, y = present(x), present(y)
	pair := [2]string{x.loose().brief(), y.loose().brief()}
	numbers := func(s string) bool { return s == "int" || s == "float" || s == "int | float" || s == "float | int" }
	for _, t := range []Type{x, y} {
		if at, ok := t.only(); ok && at.kind == none {
			return noneHint(at)
		}
	}
	switch {
	case slices.ContainsFunc(append(slices.Clone(x.atoms), y.atoms...), atom.secret):
		return `key.wrap("Bearer {}") puts a secret into a text`
	case slices.ContainsFunc(append(slices.Clone(x.atoms), y.atoms...), callable):
		return "a function stands here: call it with ()"
	case x.brief() == "timestamp" && numbers(pair[1]) || y.brief() == "timestamp" && numbers(pair[0]):
		return "time.parse(t) is a timestamp in seconds"
	case x.brief() == "duration" && numbers(pair[1]) || y.brief() == "duration" && numbers(pair[0]):
		return "time.duration(d) is the number of seconds of a duration"
	case op == syntax.PLUS && (pair[0] == "string" && numbers(pair[1]) || numbers(pair[0]) && pair[1] == "string"):
		return "str(n) is the text of a number, int(s) the number of a text"
	case op == syntax.IN || op == syntax.NOT_IN:
		return ""
	case pair[0] == "string" && numbers(pair[1]) || numbers(pair[0]) && pair[1] == "string":
		for _, t := range []Type{x, y} {
			if at, ok := t.only(); ok && at.exact && at.kind == text && quotedNumber(at.lit) {
				return "write " + at.lit + ", without quotes"
			}
		}
		return "int(s) is the number of a text"
	case op == syntax.MINUS && (x.has(text) || y.has(text)):
		return "of a timestamp, such as now(), time.parse(t) is the number of seconds; of a duration time.duration(d)"
	case op == syntax.PLUS && (pair[0] == "string" || pair[1] == "string"):
		return "str(x) is the text of a value; of a reply .text is"
	case op == syntax.PLUS && pair[0] == "list":
		return "xs.append(x) adds one element, xs + [x] makes a longer list"
	case op == syntax.PLUS && pair == [2]string{"dict", "dict"}:
		return "d | e is a dict with the entries of both"
	case op == syntax.STAR && pair == [2]string{"string", "string"}:
		return ""
	}
	return ""
}

func choiceHint(t Type) string {
	if f := t.atoms[0].obj.fields["choice"]; f != nil {
		if want := exacts(f.typ); want != nil {
			return "use .choice, such as .choice == " + quote(want[0])
		}
	}
	return "use .choice"
}

func indexHint(x, y Type) string {
	if x.atoms[0].kind == list && y.has(text) {
		return "go through the list, or take one element: xs[0][" + quote(y.atoms[0].lit) + "]"
	}
	if x.atoms[0].kind == list && y.has(float) {
		return "x // y divides to a whole number, int(x) leaves out the fraction"
	}
	if exacts(x) != nil && y.has(text) {
		return keysHint
	}
	if x.atoms[0].kind == text && y.has(text) {
		return "a text has no fields; json.decode(s) reads those of a text in JSON"
	}
	return ""
}

func unindexable(x, y Type) string {
	at := x.atoms[0]
	key := "…"
	if k, ok := y.only(); ok && k.exact && k.kind == text {
		if at.kind == record && at.has(k.lit) {
			return "write ." + k.lit
		}
		key = quote(k.lit)
	}
	switch {
	case at.kind == module && at.obj.path == "memory":
		return "memory.vars.get(" + key + ") and memory.vars.set(" + key + ", value) are those of the run, memory.project.… those of the project"
	case at.kind == module && strings.HasPrefix(at.obj.path, "memory."):
		return at.obj.path + ".get(" + key + ") reads it, " + at.obj.path + ".set(" + key + ", value) sets it"
	case at.recordOf("Result"):
		return "the reply is .output[" + key + "]"
	case at.recordOf("ToolResult"):
		return "what the tool gave is .output[" + key + "]"
	case at.recordOf("Decision"):
		return "an answer's data is .payload[" + key + "]"
	case at.recordOf("Response"):
		return "the body is .json[" + key + "]"
	case at.recordOf("Item"):
		return "what was pushed is .value[" + key + "]"
	case at.recordOf("Message"):
		return "what was sent is .payload[" + key + "]"
	case at.recordOf("Outcome"):
		return "what was given is .value[" + key + "]"
	case at.kind == none:
		return noneHint(at)
	case at.kind == set:
		return "list(s)[0] is one of its elements"
	case callable(at):
		return "call it: f(…)[" + key + "]"
	}
	return ""
}

func stuckHint(what string) string {
	switch {
	case strings.Contains(what, "key"):
		return "keys are texts: str(k)"
	case strings.Contains(what, "itself"):
		return "give it a name or a number instead of the value"
	case strings.Contains(what, "set"):
		return ""
	}
	return "pass what it gives, or its name"
}

// manyAttributes is how many names a hint does not list any more.
const manyAttributes = 12

const keysHint = "a loop over a dict gives its keys, which are texts; d.items() gives pairs, d[…] what is under a key"
