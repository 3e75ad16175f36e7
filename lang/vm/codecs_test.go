package vm_test

import (
	"fmt"
	"slices"
	gotime "time"

	"go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// testCodecs write down the values that only the reference's tests have.
func testCodecs() []effect.Codec {
	codecs := []effect.Codec{
		{Type: "hasfields", Parts: hasFieldsParts, Make: makeHasFields},
		{Type: "struct", Parts: structParts, Make: makeStruct},
		{Type: "module", Parts: moduleParts, Make: makeModule},
		{Type: "time.time", Parts: timeParts, Make: makeTime},
		{Type: "time.duration", Parts: durationParts, Make: makeDuration},
	}
	for _, name := range []string{"Message", "FileDescriptor", "MessageDescriptor", "FieldDescriptor", "EnumDescriptor", "EnumValueDescriptor", "repeated<string>",
		"map<string, string>", "map<string, int64>"} {
		codecs = append(codecs, keptCodec("proto."+name))
	}
	return codecs
}

func fieldParts(parts []starlark.Value, fields starlark.StringDict) []starlark.Value {
	for _, name := range fields.Keys() {
		parts = append(parts, starlark.String(name), fields[name])
	}
	return parts
}

func makeFields(parts []starlark.Value) starlark.StringDict {
	fields := starlark.StringDict{}
	for pair := range slices.Chunk(parts, 2) {
		fields[string(pair[0].(starlark.String))] = pair[1]
	}
	return fields
}

func hasFieldsParts(v starlark.Value) ([]starlark.Value, error) {
	h := v.(*hasFields)
	return fieldParts([]starlark.Value{starlark.Bool(h.frozen)}, h.attrs), nil
}

func makeHasFields(parts []starlark.Value) (starlark.Value, error) {
	return &hasFields{frozen: bool(parts[0].(starlark.Bool)), attrs: makeFields(parts[1:])}, nil
}

func structParts(v starlark.Value) ([]starlark.Value, error) {
	fields := starlark.StringDict{}
	v.(*starlarkstruct.Struct).ToStringDict(fields)
	return fieldParts([]starlark.Value{v.(*starlarkstruct.Struct).Constructor()}, fields), nil
}

func makeStruct(parts []starlark.Value) (starlark.Value, error) {
	return starlarkstruct.FromStringDict(parts[0], makeFields(parts[1:])), nil
}

func moduleParts(v starlark.Value) ([]starlark.Value, error) {
	m := v.(*starlarkstruct.Module)
	return fieldParts([]starlark.Value{starlark.String(m.Name)}, m.Members), nil
}

func makeModule(parts []starlark.Value) (starlark.Value, error) {
	return &starlarkstruct.Module{Name: string(parts[0].(starlark.String)), Members: makeFields(parts[1:])}, nil
}

func timeParts(v starlark.Value) ([]starlark.Value, error) {
	t := gotime.Time(v.(time.Time))
	_, offset := t.Zone()
	return []starlark.Value{starlark.MakeInt64(t.Unix()), starlark.MakeInt(t.Nanosecond()), starlark.String(t.Location().String()), starlark.MakeInt(offset)}, nil
}

func makeTime(parts []starlark.Value) (starlark.Value, error) {
	sec, _ := parts[0].(starlark.Int).Int64()
	nsec, _ := parts[1].(starlark.Int).Int64()
	offset, _ := parts[3].(starlark.Int).Int64()
	loc := gotime.FixedZone("", int(offset))
	var err error
	if name := string(parts[2].(starlark.String)); name != "" { // a time that was parsed may have an offset only
		loc, err = gotime.LoadLocation(name)
	}
	return time.Time(gotime.Unix(sec, nsec).In(loc)), err
}

func durationParts(v starlark.Value) ([]starlark.Value, error) {
	return []starlark.Value{starlark.MakeInt64(int64(v.(time.Duration)))}, nil
}

func makeDuration(parts []starlark.Value) (starlark.Value, error) {
	n, _ := parts[0].(starlark.Int).Int64()
	return time.Duration(n), nil
}

// keptCodec is for values of the protobuf library, which alias each other in ways that it does not
// show: a snapshot holds a number, under which this process keeps the value. They hold no values of
// the machine.
func keptCodec(name string) effect.Codec {
	var kept []starlark.Value
	return effect.Codec{
		Type: name,
		Parts: func(v starlark.Value) ([]starlark.Value, error) {
			i := slices.Index(kept, v)
			if i < 0 {
				i = len(kept)
				kept = append(kept, v)
			}
			return []starlark.Value{starlark.MakeInt(i)}, nil
		},
		Make: func(parts []starlark.Value) (starlark.Value, error) {
			i, ok := parts[0].(starlark.Int).Int64()
			if !ok || i < 0 || int(i) >= len(kept) {
				return nil, fmt.Errorf("no %s is kept as %v", name, parts[0])
			}
			return kept[i], nil
		},
	}
}
