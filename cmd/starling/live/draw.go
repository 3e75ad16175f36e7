package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"starling/runtime"
)

// row is a line before it is laid out.
type row struct {
	depth  int
	state  state
	head   bool // names what is below it
	name   string
	text   string
	whole  bool // the text is a command: cut it is of no use
	took   time.Duration
	usage  runtime.Usage
	weight int // which rows are left out first where the screen is too low: the heaviest
}

// The weights of rows.
const (
	always = iota
	forPeople
	wrong
	atWork
	over
	older // failures of which there are many newer ones
)

// page is what rows are laid out for.
type page struct {
	now           time.Time
	width, height int // 0 is a height without a bound
	still         bool
}

// lines are the board as it fits a screen. A still one is a summary: nothing turns, and how gates
// are answered is not said.
func (b *Board) lines(s page) []string {
	rows := b.rows(s)
	rows, left := fit(rows, s.height)
	names := 0
	for _, r := range rows[1:] {
		names = max(names, 2*r.depth+runewidth.StringWidth(r.name))
	}
	names = min(names, max(8, s.width*2/5))
	lines := make([]string, 0, len(rows)+1)
	for _, r := range rows {
		lines = append(lines, s.line(r, names))
	}
	if left != "" {
		lines = append(lines, dim(cut("  … and "+left, s.width)))
	}
	return lines
}

// fit leaves out rows that a height has no room for, and says how many of which.
func fit(rows []row, height int) (kept []row, left string) {
	if height <= 0 || len(rows) <= height {
		return rows, ""
	}
	failures := 0
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].weight == wrong {
			if failures++; failures > height/3 {
				rows[i].weight = older
			}
		}
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if rows[i].weight == wrong && rows[j].weight == wrong {
			return j - i // the newest failures
		}
		return cmp.Compare(rows[i].weight, rows[j].weight)
	})
	stay := order[:max(1, height-1)]
	slices.Sort(stay)
	for _, i := range stay {
		kept = append(kept, rows[i])
	}
	if height == 1 {
		return kept, ""
	}
	return kept, counted(rows, order[len(stay):])
}

// counted says how many rows of which state there are.
func counted(rows []row, which []int) string {
	counts := map[state]int{}
	for _, i := range which {
		if !rows[i].head && !rows[i].whole {
			counts[rows[i].state]++
		}
	}
	var words []string
	for _, s := range []state{asking, failed, running, waiting, done, gone} {
		if n := counts[s]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, s))
		}
	}
	return cmp.Or(strings.Join(words, ", "), "more")
}

// String is a state for people.
func (s state) String() string {
	return [...]string{"waiting", "at work", "to be answered", "done", "failed", "withdrawn"}[s]
}

// rows are the whole tree, the run itself first.
func (b *Board) rows(s page) []row {
	end := s.now
	if b.status.Ended() || s.still {
		end = b.last
	}
	head := row{head: true, name: "run " + b.run, text: clean(b.script), took: max(0, end.Sub(b.began)), state: running}
	switch b.status {
	case runtime.Completed:
		head.state = done
	case runtime.Failed, runtime.Cancelled:
		head.state = failed
	case runtime.Suspended:
		head.state = asking
	}
	for _, t := range b.tasks {
		head.usage = head.usage.Plus(t.usage())
	}
	return append([]row{head}, b.below(b.root, 0, s)...)
}

// below are the rows of what is in a branch, where what is done is folded.
func (b *Board) below(br *branch, depth int, s page) (rows []row) {
	var folded []*task
	flush := func() {
		if len(folded) > 0 {
			rows = append(rows, fold(folded, depth))
		}
		folded = nil
	}
	for _, it := range br.items {
		switch {
		case it.task != nil && folds(it.task):
			folded = append(folded, it.task)
		case it.task != nil:
			flush()
			rows = append(rows, b.taskRows(it.task, depth, s)...)
		default:
			flush()
			rows = append(rows, b.group(it.branch, depth, s)...)
		}
	}
	flush()
	return rows
}

// folds tells whether a task is one of those that a line tells of together.
func folds(t *task) bool {
	return t.gate == nil && (t.state == done || t.state == gone)
}

// fold is the row of tasks that are done.
func fold(tasks []*task, depth int) row {
	r := row{depth: depth, state: done, weight: over}
	var names []string
	for _, t := range tasks {
		if t.state == gone {
			continue
		}
		names = append(names, t.name)
		r.took += t.ended.Sub(t.began)
		r.usage = r.usage.Plus(t.usage())
	}
	if len(names) == 0 {
		r.state, names = gone, []string{fmt.Sprintf("%d withdrawn", len(tasks))}
	}
	r.name = names[0]
	if len(names) > 1 {
		r.name, r.text = fmt.Sprintf("%d done", len(names)), strings.Join(names, ", ")
	}
	return r
}

// group is the row of a branch, with what is below it as far as it is not done.
func (b *Board) group(br *branch, depth int, s page) []row {
	head := row{depth: depth, head: true, name: br.name, text: b.counted(br), state: b.state(br), weight: always}
	head.took, head.usage = br.spent(s.now)
	if head.state == done {
		head.weight = over
		return []row{head}
	}
	if br.why != "" {
		head.head, head.text, head.weight = false, br.why, wrong
	}
	rows := []row{head}
	for _, it := range br.items {
		switch {
		case it.task != nil && !folds(it.task):
			rows = append(rows, b.taskRows(it.task, depth+1, s)...)
		case it.branch != nil && (it.branch.open > 0 || it.branch.failed > 0):
			rows = append(rows, b.limb(it.branch, depth+1, s)...)
		}
	}
	return rows
}

// limb are the rows of one branch of several: one row, where only one thing is to be told of it.
func (b *Board) limb(br *branch, depth int, s page) []row {
	var only *task
	n := 0
	for _, it := range br.items {
		switch {
		case it.task != nil && !folds(it.task):
			only = it.task
			n++
		case it.branch != nil && (it.branch.open > 0 || it.branch.failed > 0):
			n = 2
		}
	}
	if n != 1 || only == nil || br.why != "" && br.why != only.note {
		return b.group(br, depth, s)
	}
	rows := b.taskRows(only, depth, s)
	rows[0].text = strings.TrimSuffix(only.name+": "+rows[0].text, ": ")
	rows[0].name = br.name
	return rows
}

// counted says how far the branches of a parallel are.
func (b *Board) counted(br *branch) string {
	if !br.fans || len(br.below) == 0 {
		return ""
	}
	ended, bad := 0, 0
	for _, it := range br.items {
		if it.branch == nil {
			continue
		}
		if it.branch.open == 0 {
			ended++
			if it.branch.failed > 0 {
				bad++
			}
		}
	}
	text := fmt.Sprintf("%d/%d done", ended-bad, b.branches(br))
	if bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	return text
}

// branches is how many a parallel has. Of those that have asked for nothing nobody knows what
// became of them once it is over.
func (b *Board) branches(br *branch) int {
	if b.status == runtime.Completed || br.over() {
		return len(br.below)
	}
	return max(br.known, len(br.below))
}

func (b *Board) state(br *branch) state {
	switch {
	case br.open > 0, br.fans && b.branches(br) > len(br.below) && !b.status.Ended():
		return running
	case br.failed > 0:
		return failed
	}
	return done
}

// spent is for how long a branch was at work, and what that has cost.
func (br *branch) spent(now time.Time) (took time.Duration, u runtime.Usage) {
	var from, to time.Time
	br.each(func(t *task) {
		u = u.Plus(t.usage())
		end := t.ended
		if !t.state.ended() {
			end = now
		}
		if from.IsZero() || t.began.Before(from) {
			from = t.began
		}
		if end.After(to) {
			to = end
		}
	})
	return max(0, to.Sub(from)), u
}

func (br *branch) each(do func(*task)) {
	for _, it := range br.items {
		if it.task != nil {
			do(it.task)
		} else {
			it.branch.each(do)
		}
	}
}

// taskRows are the row of a task, and of how it is answered where it asks.
func (b *Board) taskRows(t *task, depth int, s page) []row {
	r := row{depth: depth, state: t.state, name: t.name, text: t.note, usage: t.usage(), weight: atWork}
	end := t.ended
	if !t.state.ended() {
		end = s.now
	}
	r.took = max(0, end.Sub(t.began))
	switch t.state {
	case failed:
		r.weight = wrong
	case done, gone:
		r.weight = over
	case waiting, running:
		r.text = cmp.Or(t.note, t.about)
		if t.attempt > 1 || t.attempt == 1 && t.state == waiting && t.note != "" {
			r.text = again(t)
		}
	case asking:
		r.weight, r.text = forPeople, "for "+cmp.Or(clean(t.gate.Target), "anybody")
		if t.gate.Prompt != "" {
			r.text += ": " + clean(t.gate.Prompt)
		}
		if !s.still {
			return []row{r, b.answered(t, depth, s.width)}
		}
	}
	return []row{r}
}

// again says which attempt it is, and why.
func again(t *task) string {
	n := t.attempt
	if t.state == waiting {
		n++
	}
	return strings.TrimSuffix(fmt.Sprintf("attempt %d: %s", n, t.note), ": ")
}

// answered is the row of the command that answers a gate, of a shorter one where the screen is too
// narrow for it.
func (b *Board) answered(t *task, depth, width int) row {
	text := "starling review"
	if b.answer != nil {
		for _, command := range b.answer(*t.gate) {
			if 2*depth+4+runewidth.StringWidth(command) <= width {
				text = command
				break
			}
		}
	}
	return row{depth: depth, state: asking, text: text, whole: true, weight: forPeople}
}
