package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"testing"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/stdlib"
)

// starling is an engine in this process, on the store that every user has.
type starling struct {
	engine *engine.Local
	ctx    context.Context
	bundle []byte
}

const script = `
def main(kind, n):
    if kind == "steps":
        for i in range(n):
            work()
    if kind == "fan":
        parallel([work for _ in range(n)])
    if kind == "wait":
        gate("go", options = ["on"])
`

func newStarling(t testing.TB) *starling {
	store, err := badger.Open(filepath.Join(t.TempDir(), "store"), badger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := maps.Clone(stdlib.Environment(stdlib.Options{Natives: vm.Natives()}).Names)
	names["work"] = &effect.Builtin{FullName: "work", Class: effect.Waiting, Request: func(*effect.Call) (*effect.Request, error) {
		return &effect.Request{Class: effect.Waiting, Kind: "work", Name: "work"}, nil
	}}
	env := &effect.Environment{Names: names, Handlers: map[string]*effect.Handler{
		"work": {Perform: func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} }},
	}}
	engine, err := engine.Open(store, env, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	files, err := lang.Read("peer.star", func(name string) ([]byte, error) {
		if name == "peer.star" {
			return []byte(script), nil
		}
		return nil, fs.ErrNotExist
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &starling{engine: engine, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:peer", Local: true}), bundle: files.Encode()}
}

func (s *starling) start(kind string, n int) (*runtime.Run, error) {
	inputs := fmt.Appendf(nil, `{"kind": %q, "n": %d}`, kind, n)
	return s.engine.Start(s.ctx, runtime.StartRequest{Bundle: s.bundle, Script: "peer.star", Inputs: json.RawMessage(inputs)})
}

// complete starts a run and waits for its end.
func (s *starling) complete(kind string, n int) error {
	run, err := s.start(kind, n)
	if err != nil || run.Status == runtime.Completed {
		return err
	}
	status := runtime.Status("")
	err = s.engine.Watch(s.ctx, runtime.WatchRequest{Run: run.ID, Follow: true, After: run.Details.Seq}, func(ev runtime.Event) error {
		if ev.Type == journal.RunCompleted.String() {
			status = runtime.Completed
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err == nil && status != runtime.Completed {
		err = fmt.Errorf("run %s did not complete", run.ID)
	}
	return err
}

func (s *starling) steps(n int) error { return s.complete("steps", n) }

func (s *starling) fan(n int) error { return s.complete("fan", n) }

func (s *starling) suspend() (string, error) {
	run, err := s.start("wait", 0)
	if err != nil {
		return "", err
	}
	if run.Status != runtime.Suspended {
		return "", fmt.Errorf("run %s is %s", run.ID, run.Status)
	}
	return run.ID, nil
}

func (s *starling) signal(run string) error {
	receipt, err := s.engine.Signal(s.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "go", Choice: "on"})
	if err == nil && receipt.Status != runtime.Completed {
		err = fmt.Errorf("run %s is %s", run, receipt.Status)
	}
	return err
}
