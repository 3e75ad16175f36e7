package lsp

import (
	"strings"

	"starling/lang/doc"
)

// signatureHelp says what the call around a position takes, and which of it is being written.
func (s *Server) signatureHelp(d *document, p *params) (any, error) {
	source, offset := d.text.source, d.text.offset(p.Position)
	around := scan(source, offset)
	for i := len(around.brackets) - 1; i >= 0; i-- {
		open := around.brackets[i]
		if source[open] != '(' || dottedBefore(source, open) == "" {
			continue
		}
		e := s.calleeOf(d, open, offset)
		if e == nil || e.Signature == "" {
			return nil, nil
		}
		n, name := argument(source, open, offset)
		return helpOf(e, n, name), nil
	}
	return nil, nil
}

func helpOf(e *doc.Entry, n int, name string) signatureHelp {
	info := signatureInformation{Label: withResult(e.Signature, e.Result), Documentation: markdown(e.Summary), Parameters: []parameterInformation{}}
	active := n
	for i, p := range e.Params {
		info.Parameters = append(info.Parameters, parameterInformation{p.Name, markdown(p.Doc)})
		if p.Name == name {
			active = i
		} else if name == "" && strings.HasPrefix(p.Name, "*") && n > i {
			active = i
		}
	}
	return signatureHelp{Signatures: []signatureInformation{info}, ActiveParameter: active}
}

// calleeOf is what is written about the function of a call whose bracket opens at an offset. What
// stands from there to resume may be no program.
func (s *Server) calleeOf(d *document, open, resume int) *doc.Entry {
	name := dottedBefore(d.text.source, open)
	root, _, isPath := strings.Cut(name, ".")
	o := s.outlineOf(d)
	if o != nil {
		if place, ok := d.text.follow(o.text, open); ok {
			if v := o.inScope(place)[root]; v != nil && !isPath {
				sym, ok := s.symbolOf(o, v)
				if !ok || sym.in.defs[sym.name] == nil {
					return nil
				}
				e := doc.OfFunction(sym.in.defs[sym.name])
				return &e
			} else if v != nil {
				return s.methodOf(d, name, open, resume)
			}
		}
	}
	if e := s.manual(d).byName[name]; e != nil {
		return e
	}
	return s.methodOf(d, name, open, resume)
}

// methodOf is what is written about the method whose name stands before an offset.
func (s *Server) methodOf(d *document, name string, open, resume int) *doc.Entry {
	dot := open - len(name) + strings.LastIndexByte(name, '.')
	if !strings.Contains(name, ".") {
		if dot = open - len(name) - 1; dot < 0 || d.text.source[dot] != '.' {
			return nil
		}
	}
	method := d.text.source[dot+1 : open]
	for _, m := range s.typeBefore(d, dot, resume).Members() {
		if m.Name == method {
			return s.manual(d).entryOf(m)
		}
	}
	return nil
}
