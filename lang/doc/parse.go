package doc

import (
	_ "embed"
	"strings"
	"sync"

	"starling/lang/effect"
)

//go:embed language.txt
var languageText string

// language is what language.txt says, by name. It is read once and never changes.
var language = sync.OnceValue(func() map[string]paragraph { return parse(languageText) })

// Declared is the declaration of a function or method of the language itself, nil if there is none
// of that name. It can only be asked, not called.
func Declared(name string) *effect.Builtin {
	if p, ok := language()[name]; ok {
		return p.builtin
	}
	return nil
}

// FieldType is the type of a field of a record, as language.txt writes it, "" where it says none.
func FieldType(record, field string) string {
	for _, f := range language()[record].fields {
		if f.Name == field {
			return f.Type
		}
	}
	return ""
}

// paragraph is one entry of a text.
type paragraph struct {
	kind    string
	name    string
	builtin *effect.Builtin // nil for what cannot be called
	text    string
	fields  []Param // of a type
	example string
}

func parse(text string) map[string]paragraph {
	all := map[string]paragraph{}
	for block := range strings.SplitSeq(text, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(block, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			p := heading(lines[0])
			for _, line := range lines[1:] {
				p.add(strings.TrimPrefix(line, "    "))
			}
			all[p.name] = p
		}
	}
	return all
}

// heading reads the first line of an entry.
func heading(line string) paragraph {
	if name, ok := strings.CutPrefix(line, "type "); ok {
		return paragraph{kind: Type, name: name}
	}
	if name, ok := strings.CutPrefix(line, "module "); ok {
		return paragraph{kind: Module, name: name}
	}
	call, result, _ := strings.Cut(line, " -> ")
	name, params, callable := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	if !callable {
		return paragraph{kind: Constant, name: name}
	}
	kind := Function
	if strings.Contains(name, ".") {
		kind = Method
	}
	return paragraph{kind: kind, name: name, builtin: &effect.Builtin{FullName: name, Result: result, Params: parameters(params)}}
}

// parameters reads those of a signature.
func parameters(text string) []effect.Param {
	var list []effect.Param
	keywordOnly := false
	for part := range strings.SplitSeq(text, ", ") {
		switch part {
		case "":
			continue
		case "/":
			for i := range list {
				list[i].Positional = true
			}
			continue
		case "*":
			keywordOnly = true
			continue
		}
		p := effect.Param{Nullable: true} // the language's functions know no argument that is absent
		p.Name, p.Default, _ = strings.Cut(part, " = ")
		p.Name, p.Type, _ = strings.Cut(p.Name, ": ")
		p.Type, p.OneOf = words(p.Type)
		p.Name, p.Keywords = strings.CutPrefix(p.Name, "**")
		p.Name, p.Variadic = strings.CutPrefix(p.Name, "*")
		p.KeywordOnly = keywordOnly && !p.Keywords
		keywordOnly = keywordOnly || p.Variadic
		list = append(list, p)
	}
	return list
}

// words takes the texts out of the types of a parameter, such as those of "all"|"any"|int.
func words(types string) (rest string, oneOf []string) {
	if !strings.Contains(types, `"`) {
		return types, nil
	}
	rest = "string"
	for t := range strings.SplitSeq(types, "|") {
		if word, ok := strings.CutPrefix(t, `"`); ok {
			oneOf = append(oneOf, strings.TrimSuffix(word, `"`))
			continue
		}
		rest += "|" + t
	}
	return rest, oneOf
}

// add takes one line of an entry's body.
func (p *paragraph) add(line string) {
	if code, ok := strings.CutPrefix(line, "> "); ok {
		p.example += code + "\n"
		return
	}
	name, about, ok := strings.Cut(line, ": ")
	if i := strings.LastIndex(line, `": `); p.kind == Type && i > 0 && strings.Contains(name, ` "`) {
		name, about = line[:i+1], line[i+3:]
	}
	if name, typ, _ := strings.Cut(name, " "); ok && p.kind == Type && typeNames(typ) {
		p.fields = append(p.fields, Param{Name: name, Type: typ, Doc: about})
		return
	}
	if ok && p.describes(name, about) {
		return
	}
	p.text = strings.TrimSpace(p.text + " " + line)
}

// typeNames tells whether a text names types of fields, or is empty.
func typeNames(text string) bool {
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "|", "None", "bool", "int", "number", "string", "dict", "list", "json", "error":
		default:
			if word[0] != '"' {
				return false
			}
		}
	}
	return true
}

// describes notes what is said of a parameter, if there is one of that name.
func (p *paragraph) describes(name, about string) bool {
	if p.builtin == nil {
		return false
	}
	for i := range p.builtin.Params {
		if q := &p.builtin.Params[i]; q.Name == name {
			q.Doc = about
			return true
		}
	}
	return false
}

// entry is what the paragraph says.
func (p paragraph) entry() Entry {
	e := Entry{Name: p.name}
	if p.builtin != nil {
		e = entryOf(p.builtin)
	}
	e.Kind, e.Example = p.kind, p.example
	e.Summary, e.Text = summary(p.text)
	if p.fields != nil {
		e.Params = p.fields
	}
	return e
}
