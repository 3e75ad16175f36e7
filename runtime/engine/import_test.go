package engine_test

import (
	"testing"

	"starling/runtime"
)

// A run that was forgotten comes back from a file as it was then, however far it had gone on here,
// and goes on from there.
func TestPrunedRunIsImportedAgain(t *testing.T) {
	for name, meanwhile := range map[string]func(*world){"straight": func(*world) {}, "restarted": (*world).restart, "crashed": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := trims(t, 0)
			run := w.looped(3)
			file := w.export(run)
			w.signal(answer(run, "more", "no"))
			if end := w.rests(run); end.Status != runtime.Completed {
				t.Fatalf("it is %s", end.Status)
			}
			if report := w.pruneAll(); len(report.Pruned) != 1 {
				t.Fatalf("%+v", report)
			}
			meanwhile(w)
			f, err := runtime.Extension[runtime.Archive](w.engine)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Import(w.ctx, runtime.ImportRequest{File: file}); err != nil {
				t.Fatal(err)
			}
			w.signal(answer(run, "more", "no"))
			if end := w.rests(run); string(end.Output) != `[3,{"all":[3]}]` {
				t.Errorf("output %s, error %+v", end.Output, end.Error)
			}
		})
	}
}
