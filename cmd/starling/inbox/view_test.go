package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// play is a view without a terminal, at a desk whose gates are a list and whose clock stands.
type play struct {
	t     testing.TB
	v     *view
	now   time.Time
	gates []runtime.Gate
	gone  map[string]string // by address
	sent  []runtime.Signal
	deny  error // of what is sent
}

func begins() time.Time { return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) }

func gateNamed(name string, options ...string) runtime.Gate {
	g := runtime.Gate{Address: "RUN/" + name, Gate: name, Prompt: "about " + name + "?", OpenedAt: begins().Add(-time.Minute)}
	for _, o := range options {
		g.Options = append(g.Options, runtime.Option{Name: o})
	}
	return g
}

func playing(t testing.TB, gates ...runtime.Gate) *play {
	p := &play{t: t, now: begins(), gates: gates, gone: map[string]string{}}
	p.restart(Drafts{Folder: filepath.Join(t.TempDir(), "drafts"), Store: "S"})
	return p
}

// restart is the view of another process at the same desk.
func (p *play) restart(drafts Drafts) {
	d := &Desk{
		Sections: []Section{{Name: "all"}, {Name: "二番", Filter: "f"}},
		Gates: func(_ context.Context, s Section, after string) ([]runtime.Gate, string, error) {
			if s.Filter != "" {
				return p.gates[:1:1], "", nil
			}
			return append([]runtime.Gate(nil), p.gates...), "", nil
		},
		Gone: func(_ context.Context, g runtime.Gate) (string, error) { return p.gone[g.Address], nil },
		Send: func(_ context.Context, s runtime.Signal) (*runtime.Receipt, error) {
			p.sent = append(p.sent, s)
			return &runtime.Receipt{Decision: json.RawMessage("{}")}, p.deny
		},
		Answer: func(g runtime.Gate, choice, reason string) runtime.Signal {
			run, name, _ := strings.Cut(g.Address, "/")
			return runtime.Signal{Run: run, Gate: name, Choice: choice, Reason: reason, As: g.Target}
		},
		Command: func(s runtime.Signal, data string) string {
			return strings.TrimSpace("answer " + s.Gate + " " + s.Choice + " " + data)
		},
		Drafts:   drafts,
		TakeBack: 5 * time.Second,
		Clock:    func() time.Time { return p.now },
	}
	p.v = newView(context.Background(), d)
	p.do(p.v.refresh())
	p.size(100, 30)
}

// do performs a command and all that come of it, but for the clock's.
func (p *play) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	done := make(chan tea.Msg, 1)
	go func() { done <- cmd() }()
	select {
	case msg := <-done:
		switch msg := msg.(type) {
		case nil, tea.QuitMsg:
		case tea.BatchMsg:
			for _, cmd := range msg {
				p.do(cmd)
			}
		default:
			p.send(msg)
		}
	case <-time.After(20 * time.Millisecond): // it waits for the clock on the wall, which stands here
	}
}

func (p *play) send(msg tea.Msg) {
	_, cmd := p.v.Update(msg)
	p.do(cmd)
}

func (p *play) size(width, height int) { p.send(tea.WindowSizeMsg{Width: width, Height: height}) }

// later has the clock go on.
func (p *play) later(d time.Duration) {
	p.now = p.now.Add(d)
	p.send(tick{})
}

// press types keys by their names; what has none is text.
func (p *play) press(keys ...string) {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown}
	for _, k := range keys {
		switch code, ok := named[k]; {
		case ok:
			p.send(tea.KeyPressMsg{Code: code})
		case strings.HasPrefix(k, "ctrl+"):
			p.send(tea.KeyPressMsg{Code: rune(k[5]), Mod: tea.ModCtrl})
		default:
			for _, r := range k {
				p.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
	}
}

// shown is the screen without its styles.
func (p *play) shown() string {
	rows, _ := p.v.draw()
	for i, row := range rows {
		rows[i] = strings.TrimRight(unstyled(row), " ")
	}
	return strings.Join(rows, "\n")
}

func (p *play) shows(patterns ...string) {
	p.t.Helper()
	for _, pattern := range patterns {
		if text := p.shown(); !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
			p.t.Errorf("want %s in\n%s", pattern, text)
		}
	}
}

func (p *play) hides(pattern string) {
	p.t.Helper()
	if text := p.shown(); regexp.MustCompile("(?m)" + pattern).MatchString(text) {
		p.t.Errorf("do not want %s in\n%s", pattern, text)
	}
}

// answers are what was sent.
func (p *play) answers() string {
	var all []string
	for _, s := range p.sent {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.Gate, s.Choice, s.Data, s.Reason)))
	}
	return strings.Join(all, ", ")
}

func (p *play) sentIs(want string) {
	p.t.Helper()
	if got := p.answers(); got != want {
		p.t.Errorf("sent is %q, want %q", got, want)
	}
}

// kept lists the drafts on the disk.
func (p *play) kept() (texts []string) {
	files, _ := filepath.Glob(filepath.Join(p.v.desk.Drafts.Folder, "*"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			p.t.Errorf("%s: %v %v, want only its user to read it", f, info.Mode(), err)
		}
		text, _ := os.ReadFile(f)
		texts = append(texts, string(text))
	}
	return texts
}

// An answer is sent when its time has come, and not before; until then it can be taken back.
func TestTakeBack(t *testing.T) {
	p := playing(t, gateNamed("a", "approve", "reject"), gateNamed("b", "approve", "reject"))
	p.press("a")
	p.shows(`^ → a +approve in 5s`, `^›  b `, `^u take back`)
	p.later(4900 * time.Millisecond)
	p.sentIs("")
	p.shows(`approve in 1s`)
	p.press("u")
	p.shows(`taken back, nothing was sent`, `› choice +1 ● approve`)
	p.later(time.Minute)
	p.sentIs("")
	p.press("esc", "a")
	p.later(5 * time.Second)
	p.sentIs("a approve")
	p.shows(`^accepted RUN/a: approve`, `all 1 `)
	if list := p.kept(); len(list) > 0 {
		t.Errorf("drafts are left: %v", list)
	}
}

// Leaving sends at once what is on its way; ctrl+c takes it back instead, and leaves where nothing
// is.
func TestLeaving(t *testing.T) {
	p := playing(t, gateNamed("a", "approve", "reject"), gateNamed("b", "approve", "reject"))
	p.press("a", "ctrl+c")
	p.shows(`1 taken back, as drafts; nothing was sent`)
	p.sentIs("")
	p.press("up", "a", "a", "q")
	p.sentIs("a approve, b approve")
	if left := p.v.left(); !p.v.leaving || len(left.Done) != 2 || left.Drafts != 0 {
		t.Errorf("left is %+v", left)
	}
}

// What does not fit is said while it is typed, and what is wrong is not sent.
func TestValidation(t *testing.T) {
	g := gateNamed("form", "yes", "no")
	g.Contract = `{n: int(1..9), why: string(1..20), level: "LOW" | "HIGH" = "LOW"}`
	p := playing(t, g)
	p.press("1")
	p.shows(`› n *$`, `wants string\(1\.\.20\)`, `answer form yes …`)
	p.press("12")
	p.shows(`✗ got 12, want int\(1\.\.9\)`)
	p.press("ctrl+s")
	p.later(time.Minute)
	p.sentIs("")
	p.press("backspace")
	p.hides(`got 12`)
	p.press("tab", "it is 可", "tab", "right", "right")
	p.shows(`why +it is 可`, `› level +HIGH`, `✓ ctrl\+s sends it`, `^\$ answer form yes \{"n":1,"why":"it is 可","level":"HIGH"\}`)
	p.press("enter", "because", "enter")
	p.later(5 * time.Second)
	p.sentIs(`form yes {"n":1,"why":"it is 可","level":"HIGH"} because`)
}

// What was typed is there again in another process, but for secrets, and only for the same gate.
func TestDraft(t *testing.T) {
	g := gateNamed("form", "yes", "no")
	g.Contract = `{why: string, password: string, api_key?: string}`
	p := playing(t, g, gateNamed("other", "yes", "no"))
	p.press("enter", "2", "tab", "half a thou", "tab", "hunter2", "tab", "k-123")
	p.hides(`hunter2|k-123`)
	p.shows(`password +•••••••`)
	if list := p.kept(); len(list) != 1 || strings.Contains(list[0], "hunter2") || strings.Contains(list[0], "k-123") {
		t.Errorf("kept is %q", list)
	}
	p.restart(p.v.desk.Drafts)
	p.shows(`^›✎ form`)
	p.press("enter")
	p.shows(`2 ● no`, `why +half a thou`, `password *$`)
	p.press("esc", "d")
	p.hides(`✎`)
	p.press("e", "x", "ctrl+w", "esc")
	p.hides(`✎`)

	p.press("m", "why not", "esc")
	p.gates[0].OpenedAt = p.now // the address has another gate now
	p.restart(p.v.desk.Drafts)
	p.press("enter")
	p.hides(`why not`)
	p.press("esc")
	p.restart(Drafts{Folder: p.v.desk.Drafts.Folder, Store: "elsewhere"})
	p.hides(`✎`)
}

// Drafts of gates that others have answered vanish.
func TestSweep(t *testing.T) {
	p := playing(t, gateNamed("a", "yes", "no"), gateNamed("b", "yes", "no"))
	p.press("m", "words", "esc", "down", "m", "more", "esc")
	p.gates = p.gates[1:]
	p.now = time.Now().Add(time.Hour) // behind what was written
	p.restart(p.v.desk.Drafts)
	if list := p.kept(); len(list) != 1 || !strings.Contains(list[0], "more") {
		t.Errorf("kept is %q", list)
	}
}

// Who fills in a form hears that somebody was faster; what was typed can still be read, and nothing
// is sent.
func TestFaster(t *testing.T) {
	p := playing(t, gateNamed("a", "approve", "reject"), gateNamed("b", "approve", "reject"))
	p.press("r", "too late")
	p.gone["RUN/a"] = "approve by bob was faster"
	p.later(time.Second)
	p.shows(`RUN/a: approve by bob was faster`, `✗ approve by bob was faster; nothing of yours was sent`, `reason +too late`)
	p.press("enter")
	p.later(time.Minute)
	p.sentIs("")
	p.shows(`^›  b`)
	if list := p.kept(); len(list) > 0 {
		t.Errorf("drafts are left: %v", list)
	}
	p.deny = runtime.Refuse(runtime.ErrDecided, "", "gate b is decided")
	p.gone["RUN/b"] = "reject by eve was faster"
	p.press("a")
	p.later(5 * time.Second)
	p.shows(`RUN/b: reject by eve was faster`, `no gate is open`)
	if left := p.v.left(); len(left.Done) != 1 || left.Done[0].Err == nil {
		t.Errorf("left is %+v", left)
	}
}

// What the owner refuses is a draft again, with the reason beside it.
func TestRefused(t *testing.T) {
	p := playing(t, gateNamed("a", "approve", "reject"))
	p.deny = runtime.Refuse(runtime.ErrWrongTarget, "", "it is for lead")
	p.press("r", "no", "enter")
	p.later(5 * time.Second)
	p.shows(`RUN/a: it is for lead`, `^›✎ a`)
	p.press("enter")
	p.shows(`reason +no`)
}

// What may be edited stands there, and is only sent where it was changed.
func TestEdit(t *testing.T) {
	g := gateNamed("e", "approve", "reject")
	g.Editable, g.Data = true, json.RawMessage(`{"title": "Hello", "n": 3, "more": {"a": 1}}`)
	f := g
	f.Address, f.Gate = "RUN/f", "f"
	p := playing(t, g, f)
	p.press("e")
	p.shows(`› title +Hello`, `n +3`, `more +\{"a":1\}`)
	p.press(" you", "tab", "ctrl+u", "4", "ctrl+s")
	p.shows(`^choose one of the options`, `› choice`)
	p.press("1", "ctrl+s")
	p.press("a")
	p.later(5 * time.Second)
	p.sentIs(`e approve {"title":"Hello you","n":4,"more":{"a":1}}, f approve`)
}

// Where there are no options, the answer is what is typed; several lines are one text.
func TestFree(t *testing.T) {
	p := playing(t, gateNamed("a"))
	p.press("enter", "one", "ctrl+j", "two")
	p.send(tea.PasteMsg{Content: "\r\nthree\x1b[31m \u202e"})
	p.press("enter")
	p.later(5 * time.Second)
	p.sentIs(`a  "one\ntwo\nthree[31m"`)
}

// Pasted text is no keys.
func TestPasteIsNoKeys(t *testing.T) {
	p := playing(t, gateNamed("a", "approve"))
	p.send(tea.PasteMsg{Content: "a\nq"})
	p.later(time.Minute)
	p.sentIs("")
	if p.v.leaving {
		t.Error("a paste has left the view")
	}
}

// A search narrows the list, and what is answered is what is shown.
func TestSearch(t *testing.T) {
	var gates []runtime.Gate
	for i := range 1000 {
		gates = append(gates, gateNamed(fmt.Sprintf("g%d", i), "approve"))
	}
	p := playing(t, gates...)
	p.press("/", "G77", " abo")
	p.shows(`all 11 of 1000`, `^/ G77 abo`)
	p.press("enter", "j", "a")
	p.later(5 * time.Second)
	p.sentIs("g770 approve")
	p.press("esc", "G")
	p.shows(`^›  g999`)
	p.size(20, 8)
	p.shows(`^a approve +\? keys$`)
	p.press("enter")
	p.shows(`esc back$`)
}
