package contract

import "go.starlark.net/starlark"

// A Field is what callers need to know of a field of the top record: an input of a script, a line
// of a form.
type Field struct {
	Name         string
	Type         string         // canonical text
	Required     bool           // the record is refused without it
	Optional     bool           // name?: absent unless given
	Default      starlark.Value // frozen; nil without one. A field T? that is absent reads as None
	AdmitsString bool           // so that text given for it is taken as it stands
	AgentOnly    bool           // hidden from people
}

// Fields are those of the top record in declared order; ok is false when the contract is no record.
func (c *Contract) Fields() (fields []Field, ok bool) {
	record, ok := resolved(c.root).(*recordType)
	if !ok {
		return nil, false
	}
	for _, m := range record.members {
		fields = append(fields, Field{
			Name:         m.name,
			Type:         printed(m.typ),
			Required:     m.required(),
			Optional:     m.optional,
			Default:      m.preset,
			AdmitsString: admitsString(m.typ),
			AgentOnly:    m.agentOnly,
		})
	}
	return fields, true
}

// Field is the contract of one field that the top record declares, nil of any other.
func (c *Contract) Field(name string) *Contract {
	record, ok := resolved(c.root).(*recordType)
	if !ok || record.index[name] == nil {
		return nil
	}
	return c.part(record.index[name].typ)
}

// Present is the contract of what is there: that of T where c is T?, and c itself otherwise.
func (c *Contract) Present() (present *Contract, optional bool) {
	t, ok := resolved(c.root).(*optionalType)
	if !ok {
		return c, false
	}
	return c.part(t.inner), true
}

// part is a contract of one of the types of c.
func (c *Contract) part(t typ) *Contract {
	p := &Contract{definitions: c.definitions, root: t}
	p.text = canonical(p)
	return p
}

// Brief is the type alone, without the definitions of the names in it.
func (c *Contract) Brief() string { return brief(c.root) }

// Open says whether the top record admits keys that it does not declare.
func (c *Contract) Open() bool {
	record, ok := resolved(c.root).(*recordType)
	return ok && record.rest != nil
}

// ParseArg reads the value of one field of the top record from the text of an argument, as in -i
// name=text: the text itself where the type admits a string, else the text as JSON. The value is
// not checked yet: check the whole record when it is complete. The error is Violations, of one: no
// such field, or the text is not JSON.
func (c *Contract) ParseArg(name, text string) (starlark.Value, error) {
	t, bad := c.fieldType(name)
	if !bad.none() {
		return nil, bad.violations()
	}
	if admitsString(t) {
		return starlark.String(text), nil
	}
	v, err := FromJSON([]byte(text))
	if err != nil {
		bad := problem(describe(starlark.String(text)), brief(t), "it is read as JSON")
		return nil, inside(KeyStep(name), bad).violations()
	}
	return v, nil
}

// ParseJSONArg is ParseArg for -i name:=json, which is JSON whatever the type.
func (c *Contract) ParseJSONArg(name, text string) (starlark.Value, error) {
	if _, bad := c.fieldType(name); !bad.none() {
		return nil, bad.violations()
	}
	v, err := FromJSON([]byte(text))
	if err != nil {
		bad := problem(describe(starlark.String(text)), "JSON", err.Error())
		return nil, inside(KeyStep(name), bad).violations()
	}
	return v, nil
}

// fieldType is the type of a declared field, or of all others in an open record.
func (c *Contract) fieldType(name string) (typ, problems) {
	record, ok := resolved(c.root).(*recordType)
	if !ok {
		return nil, problem("the field "+quote(name), brief(c.root), "")
	}
	if m := record.index[name]; m != nil {
		return m.typ, problems{}
	}
	if record.rest != nil {
		return record.rest, problems{}
	}
	return nil, inside(KeyStep(name), unknownKey(record, name, new(starlark.Dict)))
}
