// Package probe has small tasks of which it is measured whether an agent does them: agents --test.
package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/agent"
)

// Trial is a small task of which it is measured whether a backend does it. It is played in a folder
// of its own, which is empty and goes away.
type Trial struct {
	Name    string
	task    string
	returns string // contract of the reply, "" for none
	files   bool   // it is about files, with the right to change them or without
	may     bool
	judge   func(folder string, r effect.Reply) (text string, ok bool)
}

const (
	file     = "answer.txt"
	returns  = "{word: string, number: int}"
	fileTask = "Create the file " + file + " in the current folder. It holds the word ready. Then reply with the word done."
)

// Trials are those that were asked for beside the word that every backend is asked for.
func Trials(typed, edit, deny bool) (trials []Trial) {
	if typed {
		trials = append(trials, Trial{Name: "typed", returns: returns, judge: judgeTyped,
			task: `Reply with the word "ready" as word and with 7 as number.`})
	}
	if edit {
		trials = append(trials, Trial{Name: "edit", task: fileTask, files: true, may: true, judge: judgeEdit})
	}
	if deny {
		trials = append(trials, Trial{Name: "deny", task: fileTask, files: true, judge: judgeDeny})
	}
	return trials
}

// View is how a backend has done a trial.
type View struct {
	Trial   string `json:"trial"`
	State   string `json:"state"` // "ok", "failed" or "not played"
	Text    string `json:"text,omitempty"`
	Elapsed string `json:"elapsed,omitempty"`
}

func judgeTyped(_ string, r effect.Reply) (text string, ok bool) {
	if r.Err != nil {
		return r.Err.Message, false
	}
	c, err := contract.Parse("output", returns)
	if err != nil {
		return err.Error(), false
	}
	v, violations := c.Check(r.Value)
	if len(violations) > 0 {
		return "its reply breaks its contract: " + violations[0].Error(), false
	}
	got := effect.ViewOf(v)
	if got.Text("word") != "ready" || got.Int("number") != 7 {
		return "it replied " + Spoken(effect.Reply{Value: v}), false
	}
	return "", true
}

func judgeEdit(folder string, r effect.Reply) (text string, ok bool) {
	if r.Err != nil {
		return r.Err.Message, false
	}
	made, err := os.ReadFile(filepath.Join(folder, file))
	switch {
	case err != nil:
		return "it has not made " + file, false
	case strings.TrimSpace(string(made)) != "ready":
		return fmt.Sprintf("%s holds %.40q", file, made), false
	}
	return "", true
}

// judgeDeny wants that nothing was changed. What programs tell of a denial differs.
func judgeDeny(folder string, r effect.Reply) (text string, ok bool) {
	switch _, err := os.Lstat(filepath.Join(folder, file)); {
	case err == nil:
		return "it has made " + file + ", which it may not", false
	case r.Err == nil:
		return "nothing was changed, and it does not tell that it was denied it", true
	case r.Err.Kind == effect.KindDenied:
		return "", true
	}
	return r.Err.Message, false
}

// Ask has a backend make one attempt.
type Ask func(ctx context.Context, s *effect.Settings, r *effect.Request) (effect.Reply, error)

// Play has a backend of an agent play a trial.
func (t Trial) Play(ctx context.Context, s *effect.Settings, r *effect.Request, by agent.Candidate, ask Ask) (View, error) {
	if t.files && !by.Edits() {
		return View{Trial: t.Name, State: "not played", Text: "whether it may change files is not for the project to say"}, nil
	}
	folder, err := newFolder()
	if err != nil {
		return View{}, err
	}
	defer os.RemoveAll(folder)
	where := *s
	where.Workspace = folder
	asked := *r
	var args effect.Object
	asked.Args = args.Text("who", r.Name).Text("task", t.task).Payload()
	asked.Returns = t.returns
	if t.files {
		if err := agent.Permit(&asked, t.may); err != nil {
			return View{}, err
		}
	}
	start := time.Now()
	reply, err := ask(ctx, &where, &asked)
	if err != nil {
		return View{}, err
	}
	v := View{Trial: t.Name, State: "ok", Elapsed: time.Since(start).Round(time.Millisecond).String()}
	var ok bool
	if v.Text, ok = t.judge(folder, reply); !ok {
		v.State = "failed"
	}
	return v, nil
}

// newFolder makes a folder that nobody else may write above: coding agents mistrust what lies
// below one that everybody may write.
func newFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	above := filepath.Join(cache, "starling", "trials")
	if err := os.MkdirAll(above, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(above, "trial")
}

// Spoken is what a reply says: its text, or else its value.
func Spoken(r effect.Reply) string {
	if r.Text != "" || r.Value == nil {
		return r.Text
	}
	text, err := contract.ToJSON(r.Value)
	if err != nil {
		return r.Value.String()
	}
	return string(text)
}

// String says how a trial went.
func (v View) String() string {
	text := v.State
	if v.Elapsed != "" {
		text = v.Elapsed + "  " + text
	}
	if v.Text != "" {
		text += ": " + v.Text
	}
	return text
}
