package runtimetest

import (
	"encoding/json"
	"fmt"
	"time"

	"starling/runtime"
)

// fakeKey is what is remembered under an idempotency key.
type fakeKey struct {
	request string
	run     string
	receipt *runtime.Receipt
}

// entry is one line of the file.
type entry struct {
	Time   time.Time              `json:"time"`
	Caller runtime.Caller         `json:"caller"`
	Run    string                 `json:"run"`
	Start  *runtime.StartRequest  `json:"start,omitempty"`
	Signal *runtime.Signal        `json:"signal,omitempty"`
	Cancel *runtime.CancelRequest `json:"cancel,omitempty"`
	Reply  *fakeReply             `json:"reply,omitempty"`
}

// fakeReply is what an agent came to.
type fakeReply struct {
	Step  int    `json:"step"` // line of the script
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

// commit applies an entry and writes it down; a refused one leaves no trace.
func (f *Fake) commit(e *entry) (*runtime.Receipt, error) {
	receipt, err := f.apply(e)
	if err != nil || f.log == nil {
		return receipt, err
	}
	_, err = fmt.Fprintln(f.log, document(e))
	return receipt, err
}

// apply is the fold.
func (f *Fake) apply(e *entry) (receipt *runtime.Receipt, err error) {
	key, request := "", any(nil)
	switch {
	case e.Start != nil:
		run, err := newFakeRun(e)
		if err != nil {
			return nil, err
		}
		f.runs = append(f.runs, run)
		f.keys["start "+e.Start.Key] = fakeKey{request: document(*e.Start), run: e.Run}
	case e.Signal != nil:
		receipt, err = f.find(e.Run).signal(e)
		key, request = e.Signal.Key, *e.Signal
	case e.Cancel != nil:
		receipt, err = f.find(e.Run).cancel(e)
		key, request = e.Cancel.Key, *e.Cancel
	case e.Reply != nil:
		f.find(e.Run).reply(e)
	}
	if err != nil {
		return nil, err
	}
	if receipt != nil {
		f.keys[e.Run+" "+key] = fakeKey{request: document(request), receipt: receipt}
	}
	close(f.changed)
	f.changed = make(chan struct{})
	return receipt, nil
}

// carry makes the agent that a run waits for do its work.
func (f *Fake) carry(run *fakeRun, env map[string]string) {
	run.carried = true
	if env != nil {
		run.env = env
	}
	step, agent := run.waitsFor()
	if agent == "" || run.flying == step {
		return
	}
	run.flying = step
	call := FakeCall{Run: run.doc.ID, Agent: agent, Env: run.env}
	f.flights.Go(func() {
		text, err := f.perform(f.life, call)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.life.Err() != nil || run.doc.Status.Ended() {
			return
		}
		reply := &fakeReply{Step: step, Text: text}
		if err != nil {
			reply.Error = err.Error()
		}
		if _, err := f.commit(&entry{Time: time.Now().UTC(), Run: call.Run, Reply: reply}); err == nil {
			f.carry(run, nil)
		}
	})
}

func keyConflict(key string) error {
	return runtime.Refuse(runtime.ErrKeyConflict, "use a new key for a new request", "the key %q was used for another request", key)
}

// document is the JSON of plain data of ours.
func document(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newFakeID makes ids that share their first letters, as random ones do now and then.
func newFakeID(n int) string { return fmt.Sprintf("fake%06d", n+1) }
