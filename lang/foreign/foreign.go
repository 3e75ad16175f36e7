// Package foreign knows what people write who come from another language, and says what to write
// here instead. Each function answers with a hint, "" for what it does not know.
package foreign

import "strings"

// Word is what takes the place of a word of another language where an expression or a statement
// should begin.
func Word(word string) string {
	switch word {
	case "import", "from":
		return `load("file.star", "name") takes the place of import; json, re, math and the like need none`
	case "class":
		return "there are no classes; use dicts, and functions that make them"
	case "try", "except", "finally":
		return "attempt(fn, …) calls a function and gives an Outcome with .ok, .value and .error"
	case "raise", "throw":
		return `fail("message") raises an error`
	case "assert":
		return `write: if not …: fail("message")`
	case "with":
		return "there is no with; what is opened is closed by itself"
	case "yield":
		return "there are no generators; build a list"
	case "del":
		return "d.pop(key) removes an entry of a dict, l.pop(i) one of a list"
	case "global", "nonlocal":
		return "a function cannot assign variables outside of it; keep what changes in a dict or list"
	case "is":
		return "== compares"
	case "async", "await":
		return "calls wait by themselves; parallel(…) runs branches at the same time"
	case "print":
		return "print is a function: print(…)"
	}
	return ""
}

// Sign is what takes the place of an operator of another language that stands behind a text.
func Sign(token, before string) string {
	switch {
	case token == "&" && strings.HasSuffix(before, "&"):
		return "write and"
	case token == "|" && strings.HasSuffix(before, "|"):
		return "write or"
	case token == "!":
		return "write not"
	case token == "?":
		return "write: x if condition else y"
	case token == "**":
		return "there is no power operator; use math.pow"
	case token == "@":
		return "there are no decorators"
	}
	return ""
}

// Name is what takes the place of a name that other languages define.
func Name(name string) string {
	switch name {
	case "null", "nil", "undefined":
		return "write None"
	case "isinstance":
		return `write: type(x) == "string"`
	case "map", "filter":
		return "write a comprehension: [f(x) for x in list if …]"
	case "args", "sys", "argv":
		return "inputs are the parameters of main; args is their dict in a script without main"
	case "sum":
		return "add in a loop: total = 0, and for x in xs: total += x"
	case "round", "pow", "floor", "ceil", "sqrt":
		return "write math." + name
	case "requests", "urllib":
		return "http.get(url) asks a server"
	case "os", "subprocess":
		return `sh.run(["make", "test"]) runs a program`
	case "datetime":
		return "now() is a timestamp; time.parse and time.format are for texts and seconds"
	case "input":
		return "gate(…) asks a person"
	case "open":
		return "fs.read(path) reads a file of the workspace"
	}
	return ""
}

// Attribute is what an attribute is called here that other libraries have.
func Attribute(name string) string {
	switch name {
	case "returncode", "exit_code", "exitcode":
		return "code"
	case "stdout", "content", "body", "message", "response":
		return "text"
	case "status_code":
		return "status"
	case "answer", "decision", "selected", "option", "approved":
		return "choice"
	case "result", "data", "parsed", "reply", "value":
		return "output"
	case "comment":
		return "reason"
	}
	return ""
}

// Method is what to write for a method that other languages have, of a value of a type as type()
// names it.
func Method(of, name string) string {
	switch name {
	case "length", "size", "len":
		return "write len(x)"
	case "contains", "includes", "has_key", "has":
		return "write: x in y"
	}
	return map[string]map[string]string{
		"list": {
			"sort": "sorted(xs) gives a sorted list", "reverse": "reversed(xs) gives a list from the end",
			"push": "write .append", "add": "write .append", "copy": "list(xs) is a copy", "join": `a text joins: ", ".join(xs)`,
			"map": "write [f(x) for x in xs]", "filter": "write [x for x in xs if …]", "count": "write len([x for x in xs if x == …])",
		},
		"dict": {"iteritems": "write .items", "copy": "dict(d) is a copy"},
		"string": {
			"trim": "write .strip", "encode": "bytes(s) is a text in UTF-8", "substring": "write s[a:b]", "toLowerCase": "write .lower",
			"toUpperCase": "write .upper", "isnumeric": "write .isdigit", "casefold": "write .lower", "append": "write s + t",
		},
	}[of][name]
}

// Type is how a type with parameters of another language is written here, by its name, "" for
// any other word.
func Type(name string) string {
	switch strings.ToLower(name) {
	case "list", "array", "sequence", "set", "tuple":
		return "a list is written [T], such as [string]"
	case "dict", "map", "mapping", "record":
		return "a map is written {string: T}"
	case "optional":
		return "what may be missing is written T?, such as int?"
	case "union":
		return "one of several is written A | B"
	case "literal", "enum":
		return `words are written in quotes: "a" | "b"`
	}
	return ""
}
