package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// What is to be remembered lies in a queue, and one run files it. Whoever remembers something
// starts that run where nobody is at it; who may start none, such as an agent, only leaves the
// item. So nothing that is remembered starts an agent by itself, and twenty calls start as many
// agents as one.

// The queue of what is to be remembered, and the name under which a project may define the script
// that files it. It is the name of its lock, too: a queue whose item the worker holds while it is
// there, and looks into the other once more when it has given that back. So who finds it taken need
// start nobody.
const (
	RememberQueue  = "remember"
	RememberWorker = "remember-worker"
)

// Reviews is the queue of the questions about what is known. An item is a Review of
// @std/knowledge.star.
const Reviews = "reviews"

// KnowledgeQuestions is the name under which a project may define the script that asks the
// questions which wait and which nobody asks.
const KnowledgeQuestions = "knowledge-questions"

// KnowledgeChanges is the name under which a project may define the script that looks for what the
// code has overtaken.
const KnowledgeChanges = "knowledge-changes"

// builtIn is the text of what runs under a name that is not defined.
func builtIn(name string) string {
	function := map[string]string{RememberWorker: "remember_worker", KnowledgeChanges: "changes", KnowledgeQuestions: "questions"}[name]
	return fmt.Sprintf("load(\"@std/knowledge.star\", %q)\n\ndef main():\n    return %s()\n", function, function)
}

// StartKnown starts what a project has defined under a name, else what comes with Starling. What
// somebody has defined who may not administer the store takes the place of nothing.
func (d *Desk) StartKnown(ctx context.Context, name, key string) (*runtime.Run, error) {
	r := runtime.StartRequest{Key: key}
	kept, err := d.newest(ctx, name)
	if err == nil && !kept.Foreign {
		err = d.definition(ctx, kept, &r)
	} else if err == nil || runtime.AsRefusal(err).Kind == runtime.ErrUnknownDefinition {
		err = d.ours(name, &r)
	}
	if err != nil {
		return nil, err
	}
	return d.Start(ctx, r)
}

// ours begins what comes with Starling, unchecked: its tests check it, and whoever remembers
// something waits.
func (d *Desk) ours(name string, r *runtime.StartRequest) error {
	bundle, err := lang.Read(scriptOfText, text(scriptOfText, builtIn(name)), d.Library)
	if err != nil {
		return err
	}
	r.Script, r.Bundle = name, bundle.Encode()
	return nil
}

// Remembered tells that something is queued.
type Remembered struct {
	Status string `json:"status"` // "queued"
	Queue  string `json:"queue"`
	Item   uint64 `json:"item"`             // its number in the queue
	Known  bool   `json:"known,omitempty"`  // an item of the key was there
	Worker string `json:"worker,omitempty"` // the run that was started or carried on to file it
}

// Knowledge is what is to be remembered.
type Knowledge struct {
	Category string   `json:"category"`
	Topic    string   `json:"topic"`
	Details  string   `json:"details"`
	Files    []string `json:"files,omitempty"`
}

// Categories is what knowledge is about: a folder each, and the other words for it, as
// @std/knowledge_files.star has them.
func Categories() map[string][]string {
	return map[string][]string{
		"architecture": {"design", "structure"},
		"patterns":     {"pattern", "convention", "conventions"},
		"dependencies": {"dependency", "library", "libraries"},
		"workflows":    {"workflow", "process"},
		"gotchas":      {"gotcha", "pitfall", "pitfalls"},
	}
}

// categoryNames are the folders, in the order in which they are told.
const categoryNames = "architecture, patterns, dependencies, workflows, gotchas"

// checkCategory refuses a category that nothing would be filed under.
func checkCategory(category string) error {
	word := strings.TrimSpace(strings.ToLower(category))
	var known []string
	for folder, others := range Categories() {
		known = append(append(known, folder), others...)
	}
	if slices.Contains(known, word) {
		return nil
	}
	r := runtime.Refusef(runtime.ErrBadInput, "remember: there is no category %q; there are %s", category, categoryNames)
	slices.Sort(known)
	if near, ok := diagnostic.Nearest(word, known); ok {
		r.Help, r.Call = fmt.Sprintf("did you mean %q?", near), fmt.Sprintf("did you mean %q?", near)
	}
	return r
}

// checkTopic refuses a topic that nothing can be filed under, as @std/knowledge_files.star does: it
// is a heading and names a file.
func checkTopic(topic string) error {
	if strings.ContainsAny(topic, "\r\n") || !strings.ContainsFunc(topic, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return runtime.Refusef(runtime.ErrBadInput, "remember: got the topic %q, want one line with a word in it", topic)
	}
	return nil
}

type pushArgs struct {
	Queue, Key string
	Value      json.RawMessage
}

func (d *Desk) push(ctx context.Context, a pushArgs) (any, error) {
	queues, err := runtime.Extension[runtime.Queues](d.Engine)
	if err != nil {
		return nil, err
	}
	pushed, err := queues.Push(ctx, runtime.PushRequest{Key: a.Key, Queue: a.Queue, Value: a.Value})
	if err != nil {
		return nil, err
	}
	return *pushed, nil
}

type rememberArgs struct {
	Knowledge
	Key string
}

func (d *Desk) remember(ctx context.Context, a rememberArgs) (any, error) {
	return d.Remember(ctx, a.Knowledge, a.Key)
}

// Remember queues something and answers when it is durable, before anybody looks at it. A category
// that is not known is refused, and nothing is queued.
func (d *Desk) Remember(ctx context.Context, k Knowledge, key string) (*Remembered, error) {
	if err := checkCategory(k.Category); err != nil {
		return nil, err
	}
	if err := checkTopic(k.Topic); err != nil {
		return nil, err
	}
	queues, err := runtime.Extension[runtime.Queues](d.Engine)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	pushed, err := queues.Push(ctx, runtime.PushRequest{Key: key, Queue: RememberQueue, Value: value})
	if err != nil {
		return nil, err
	}
	got := &Remembered{Status: "queued", Queue: pushed.Queue, Item: pushed.Item, Known: pushed.Known}
	busy, err := queues.Attended(ctx, RememberWorker)
	if err != nil {
		return got, err
	}
	var run *runtime.Run
	if busy {
		run, err = d.awake(ctx)
	} else {
		run, err = d.worker(ctx, pushed)
	}
	switch {
	case err == nil && run != nil:
		got.Worker = run.ID
	case err != nil && runtime.AsRefusal(err).Kind != runtime.ErrDenied: // who may start nothing leaves it to those who may
		return nil, err
	}
	return got, nil
}

// awake carries the worker on where nobody does: it holds its turn while it rests, and its owner
// may have died. It gives nil where it is carried.
func (d *Desk) awake(ctx context.Context) (*runtime.Run, error) {
	list, err := d.Engine.List(ctx, runtime.Query{Queue: RememberWorker})
	if err != nil || len(list.Queues) == 0 || len(list.Queues[0].Holders) == 0 {
		return nil, err
	}
	run, err := d.Engine.Get(ctx, list.Queues[0].Holders[0])
	if err != nil || run.Details.Carried {
		return nil, err
	}
	_, err = d.Engine.Resume(ctx, runtime.ResumeRequest{Runs: []string{run.ID}, Env: d.Values(run.Details.Env)})
	return run, err
}

// worker finds the run that files what was queued, or starts it. Calls that come together mean the
// same one; one that has ended, or was started under settings that have changed since, has left its
// item and is replaced.
func (d *Desk) worker(ctx context.Context, pushed *runtime.Pushed) (run *runtime.Run, err error) {
	keys := []string{workerKey(pushed.Oldest), workerKey(pushed.Item)}
	if pushed.Known {
		keys = append(keys, "") // whoever has come for the item before may have failed as well
	}
	for _, key := range slices.Compact(keys) {
		run, err = d.StartKnown(ctx, RememberWorker, key)
		if err != nil && runtime.AsRefusal(err).Kind != runtime.ErrKeyConflict || err == nil && !run.Status.Ended() {
			break
		}
	}
	return run, err
}

func workerKey(item uint64) string { return fmt.Sprintf("%s@%d", RememberWorker, item) }
