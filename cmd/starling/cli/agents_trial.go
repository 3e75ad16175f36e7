package cli

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

// agentTrial is a small task of which it is measured whether a backend does it. It is played in a
// folder of its own, which is empty and goes away.
type agentTrial struct {
	name    string
	task    string
	returns string // contract of the reply, "" for none
	files   bool   // it is about files, with the right to change them or without
	may     bool
	judge   func(folder string, r effect.Reply) (text string, ok bool)
}

const (
	trialFile  = "answer.txt"
	trialReply = "{word: string, number: int}"
	trialTask  = "Create the file " + trialFile + " in the current folder. It holds the word ready. Then reply with the word done."
)

// agentTrials are those that were asked for beside the word that every backend is asked for.
func agentTrials(typed, edit, deny bool) (trials []agentTrial) {
	if typed {
		trials = append(trials, agentTrial{name: "typed", returns: trialReply, judge: judgeTyped,
			task: `Reply with the word "ready" as word and with 7 as number.`})
	}
	if edit {
		trials = append(trials, agentTrial{name: "edit", task: trialTask, files: true, may: true, judge: judgeEdit})
	}
	if deny {
		trials = append(trials, agentTrial{name: "deny", task: trialTask, files: true, judge: judgeDeny})
	}
	return trials
}

// trialView is how a backend has done a trial.
type trialView struct {
	Trial   string `json:"trial"`
	State   string `json:"state"` // "ok", "failed" or "not played"
	Text    string `json:"text,omitempty"`
	Elapsed string `json:"elapsed,omitempty"`
}

func judgeTyped(_ string, r effect.Reply) (text string, ok bool) {
	if r.Err != nil {
		return r.Err.Message, false
	}
	c, err := contract.Parse("output", trialReply)
	if err != nil {
		return err.Error(), false
	}
	v, violations := c.Check(r.Value)
	if len(violations) > 0 {
		return "its reply breaks its contract: " + violations[0].Error(), false
	}
	got := effect.ViewOf(v)
	if got.Text("word") != "ready" || got.Int("number") != 7 {
		return "it replied " + spoken(effect.Reply{Value: v}), false
	}
	return "", true
}

func judgeEdit(folder string, r effect.Reply) (text string, ok bool) {
	if r.Err != nil {
		return r.Err.Message, false
	}
	made, err := os.ReadFile(filepath.Join(folder, trialFile))
	switch {
	case err != nil:
		return "it has not made " + trialFile, false
	case strings.TrimSpace(string(made)) != "ready":
		return fmt.Sprintf("%s holds %.40q", trialFile, made), false
	}
	return "", true
}

// judgeDeny wants that nothing was changed. What programs tell of a denial differs.
func judgeDeny(folder string, r effect.Reply) (text string, ok bool) {
	switch _, err := os.Lstat(filepath.Join(folder, trialFile)); {
	case err == nil:
		return "it has made " + trialFile + ", which it may not", false
	case r.Err == nil:
		return "nothing was changed, and it does not tell that it was denied it", true
	case r.Err.Kind == effect.KindDenied:
		return "", true
	}
	return r.Err.Message, false
}

// playTrial has a backend of an agent play a trial.
func (c *call) playTrial(ctx context.Context, s *effect.Settings, r *effect.Request, backend int, by agent.Candidate,
	t agentTrial, timeout time.Duration) (trialView, error) {
	if t.files && !by.Edits() {
		return trialView{Trial: t.name, State: "not played", Text: "whether it may change files is not for the project to say"}, nil
	}
	folder, err := trialFolder()
	if err != nil {
		return trialView{}, err
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
			return trialView{}, err
		}
	}
	start := time.Now()
	reply, err := c.probe(ctx, &where, &asked, backend, timeout)
	if err != nil {
		return trialView{}, err
	}
	v := trialView{Trial: t.name, State: "ok", Elapsed: time.Since(start).Round(time.Millisecond).String()}
	var ok bool
	if v.Text, ok = t.judge(folder, reply); !ok {
		v.State = "failed"
	}
	return v, nil
}

// trialFolder makes a folder that nobody else may write above: coding agents mistrust what lies
// below one that everybody may write.
func trialFolder() (string, error) {
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
