package fact

import (
	"encoding/binary"
	"maps"
	"slices"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Prefixes of the rows.
const (
	Prefix      = "F/"
	PrefixIndex = "e/f"
)

// Key is the row of a run's facts. There is none as long as they are those of its first record.
func Key(run string) []byte { return []byte(Prefix + run) }

// Read reads the row of a run's facts.
func Read(row []byte) (*Fold, error) {
	v, err := effect.Payload(row).View()
	if err != nil {
		return nil, err
	}
	f := &Fold{Seq: uint64(v.Int("seq")), started: journal.TimeIn(v, "started"), script: v.Text("script"), labels: v.Text("labels"), parent: v.Text("parent")}
	f.Facts.Inputs, f.Facts.Output, f.Facts.MicroUSD = factsIn(v.Texts("inputs")), factsIn(v.Texts("output")), v.Int("usd")
	for _, name := range v.Texts("agents") {
		f.asked(name)
	}
	v.Sub("used").Each(func(step string, _ effect.View) {
		if f.used == nil {
			f.used = map[string]int64{}
		}
		f.used[step] = v.Sub("used").Int(step)
	})
	f.read = row
	return f, nil
}

// row is what Read reads.
func (f *Fold) row() effect.Payload {
	var used, b effect.Object
	for _, step := range slices.Sorted(maps.Keys(f.used)) {
		used.Int(step, f.used[step])
	}
	b.Int("seq", int64(f.Seq)).Int("started", journal.Micros(f.started)).Text("script", f.script).Text("labels", f.labels).Text("parent", f.parent).
		Texts("inputs", textsOf(f.Facts.Inputs)).Texts("output", textsOf(f.Facts.Output)).Texts("agents", f.Facts.Agents).Int("usd", f.Facts.MicroUSD)
	if len(f.used) > 0 {
		b.Raw("used", used.Payload())
	}
	return b.Payload()
}

func textsOf(facts []runtime.Fact) (list []string) {
	for _, one := range facts {
		list = append(list, one.Path, one.Value)
	}
	return list
}

func factsIn(list []string) (facts []runtime.Fact) {
	for pair := range slices.Chunk(list, 2) {
		if len(pair) == 2 {
			facts = append(facts, runtime.Fact{Path: pair[0], Value: pair[1]})
		}
	}
	return facts
}

// terms are those that find the run.
func (f *Fold) terms() map[string]bool {
	all := map[string]bool{}
	if f.Facts.MicroUSD > 0 {
		all[runtime.CostTerm(f.Facts.MicroUSD)] = true
	}
	if f.parent != "" {
		all[runtime.Term(runtime.TermParent, f.parent)] = true
	}
	for name, value := range effect.ReadLabels(f.labels) {
		all[runtime.Term("label."+name, value)] = true
	}
	for prefix, facts := range map[string][]runtime.Fact{"input": f.Facts.Inputs, "output": f.Facts.Output} {
		for _, one := range facts {
			field := prefix
			if one.Path != "" {
				field += "." + one.Path
			}
			all[runtime.Term(field, one.Value)] = true
		}
	}
	for _, name := range f.Facts.Agents {
		all[runtime.Term("agent", name)] = true
	}
	for _, name := range runtime.DefinitionIn(f.script) {
		all[runtime.Term("definition", name)] = true
	}
	return all
}

// Rows are what has changed since they were made last; they are to be committed.
func (f *Fold) Rows(run string) (writes []runtime.Write) {
	if !f.changed || f.started.IsZero() {
		return nil
	}
	if before, err := Read(f.read); err == nil && f.read != nil {
		f.stored = before.terms()
	}
	now := f.terms()
	for _, term := range slices.Sorted(maps.Keys(now)) {
		if !f.stored[term] {
			writes = append(writes, runtime.Write{Key: f.entry(term, run), Value: []byte{}})
		}
	}
	for _, term := range slices.Sorted(maps.Keys(f.stored)) {
		if !now[term] {
			writes = append(writes, runtime.Write{Key: f.entry(term, run), Value: nil})
		}
	}
	f.stored, f.read, f.changed = now, nil, false
	if f.bare = f.bare && f.Seq == 1; f.bare {
		return writes
	}
	return append(writes, runtime.Write{Key: Key(run), Value: f.row()})
}

// Anew are all rows of the run, for a store that has none of its index.
func (f *Fold) Anew(run string) []runtime.Write {
	f.stored, f.read, f.changed = nil, nil, true
	return f.Rows(run)
}

// Entries are those of the index that lead to the run.
func (f *Fold) Entries(run string) (keys [][]byte) {
	for term := range f.terms() {
		keys = append(keys, f.entry(term, run))
	}
	return keys
}

func (f *Fold) entry(term, run string) []byte {
	return append(binary.BigEndian.AppendUint64(TermPrefix(term), ^uint64(f.started.UnixMicro())), run...)
}

// TermPrefix begins the entries of a term.
func TermPrefix(term string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte(PrefixIndex), uint16(len(term))), term...)
}
