package inbox

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// section is a part of the inbox as it was listed last.
type section struct {
	Section
	gates  []*item
	shown  []*item // those of gates that are searched for
	cursor int     // of shown
	scroll int     // the first of shown that is drawn
	search field

	listed  bool    // it was listed as a whole
	loading bool    // it is being listed
	coming  []*item // what was listed so far
	began   time.Time
	due     time.Time // when it is listed again
}

// item is a gate of a list.
type item struct {
	gate runtime.Gate
	text string // what is searched in, "" until something is
}

// key tells a gate from one that had its address before.
func key(g *runtime.Gate) string { return g.Address + " " + g.OpenedAt.Format(time.RFC3339Nano) }

func (s *section) selected() *runtime.Gate {
	if s.cursor >= len(s.shown) {
		return nil
	}
	return &s.shown[s.cursor].gate
}

// move puts the cursor elsewhere, within the list.
func (s *section) move(to int) { s.cursor = max(0, min(to, len(s.shown)-1)) }

// narrow shows what is searched for. The cursor stays on its gate where that is still shown.
func (s *section) narrow() {
	on := ""
	if g := s.selected(); g != nil {
		on = key(g)
	}
	words := strings.Fields(strings.ToLower(string(s.search.text)))
	s.shown = s.gates
	if len(words) > 0 {
		s.shown = nil
		for _, it := range s.gates {
			if it.holds(words) {
				s.shown = append(s.shown, it)
			}
		}
	}
	for i, it := range s.shown {
		if key(&it.gate) == on {
			s.cursor = i
			return
		}
	}
	s.move(s.cursor)
}

// holds tells whether all words stand in what a row says.
func (it *item) holds(words []string) bool {
	if it.text == "" {
		it.text = strings.ToLower(it.gate.Address + " " + it.gate.Target + " " + it.gate.Prompt)
	}
	for _, word := range words {
		if !strings.Contains(it.text, word) {
			return false
		}
	}
	return true
}

// drop takes a gate out of the list.
func (s *section) drop(gone string) {
	kept := s.gates[:0:0]
	for _, it := range s.gates {
		if key(&it.gate) != gone {
			kept = append(kept, it)
		}
	}
	if len(kept) < len(s.gates) {
		at := s.cursor
		s.gates = kept
		s.narrow()
		s.move(min(s.cursor, at))
	}
}

// loaded is a piece of a section.
type loaded struct {
	section *section
	gates   []runtime.Gate
	next    string
	err     error
}

// How often a section is listed: the one that is shown, and the others. One that takes long is
// listed less often, so that looking never costs more than a part of the time.
const (
	soon     = 2 * time.Second
	sometime = 15 * time.Second
	share    = 20
)

// refresh lists the sections whose time has come.
func (v *view) refresh() tea.Cmd {
	var all []tea.Cmd
	now := v.desk.Clock()
	for i, s := range v.sections {
		if s.loading || v.leaving || now.Before(s.due) && !(i == v.at && s.due.Sub(now) > sometime) {
			continue
		}
		s.loading, s.coming, s.began = true, nil, now
		all = append(all, v.load(s, ""))
	}
	return tea.Batch(all...)
}

func (v *view) load(s *section, after string) tea.Cmd {
	ctx, list, of := v.ctx, v.desk.Gates, s.Section
	return func() tea.Msg {
		gates, next, err := list(ctx, of, after)
		return loaded{s, gates, next, err}
	}
}

// take adds a piece of a section, and asks for the next. What was listed before stays until all of
// it is known anew.
func (v *view) take(l loaded) tea.Cmd {
	s := l.section
	for _, g := range l.gates {
		if v.settled[key(&g)] {
			continue // it was listed before it was answered
		}
		s.coming = append(s.coming, &item{gate: g})
	}
	if !s.listed {
		s.gates = s.coming
		s.narrow()
	}
	if l.err == nil && l.next != "" {
		return v.load(s, l.next)
	}
	now := v.desk.Clock()
	wait := max(soon, share*now.Sub(s.began))
	if s != v.section() {
		wait = max(sometime, wait)
	}
	s.loading, s.due = false, now.Add(wait)
	if l.err != nil {
		v.tell(red, "cannot list "+s.Name+": "+l.err.Error())
		return nil
	}
	return tea.Batch(v.replace(s), v.sweep(s))
}

// replace takes what was listed, and finds out what became of the gate that was looked at where it
// is not there any more.
func (v *view) replace(s *section) tea.Cmd {
	on := s.selected()
	s.gates, s.coming, s.listed = s.coming, nil, true
	s.narrow()
	if on == nil || s != v.section() || v.mode == answering || v.settled[key(on)] {
		return nil
	}
	if now := s.selected(); now != nil && key(now) == key(on) {
		return nil
	}
	v.top = 0
	return v.ask(*on)
}

// sweep forgets drafts of gates that are gone, once all that are open are known.
func (v *view) sweep(s *section) tea.Cmd {
	if s.Filter != "" || s.Target != "" {
		return nil
	}
	open := map[string]bool{}
	for _, it := range s.gates {
		open[it.gate.Address] = true
	}
	drafts, began := v.desk.Drafts, s.began
	return func() tea.Msg {
		drafts.sweep(open, began)
		return nil
	}
}
