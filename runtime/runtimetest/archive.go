package runtimetest

import (
	"bytes"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
)

// testArchive checks that an engine keeps the promises of runtime.Archive.
func testArchive(t *testing.T, s Subject) {
	for name, test := range map[string]func(from, to *subject){
		"suspended": testExport,
		"refused":   testImportRefused,
	} {
		t.Run(name, func(t *testing.T) { test(newEngine(t, s), newEngine(t, s)) })
	}
}

func (e *subject) archive() runtime.Archive { return extension[runtime.Archive](e, e.Engine) }

func testExport(from, to *subject) {
	run := from.opened(review, "review")
	file, err := from.archive().Export(from.ctx, run.ID)
	from.ok(err)
	r := runtime.ImportRequest{File: file, Settings: effect.Settings{ProjectFile: "/here/starling.toml"}}
	done, err := to.archive().Import(to.ctx, r)
	to.ok(err)
	local := map[string]any{"file": "/here/starling.toml", "from": "local"}
	to.same("imported", done, map[string]any{"schema": runtime.Schema, "run": run.ID,
		"runs": []string{run.ID}, "status": "suspended", "project": local})
	again, err := to.archive().Import(to.ctx, r)
	to.ok(err)
	to.same("the same file again", again.Known, true)
	r.TrustProject = true
	trusted, err := to.archive().Import(to.ctx, r)
	to.ok(err)
	to.same("trusted", trusted.Project, map[string]any{"from": "export"})
	back, err := from.archive().Import(from.ctx, r)
	from.ok(err)
	from.same("the file where it comes from", back.Known, true)
	from.same("its project", back.Project, map[string]any{"from": "own"})

	now, err := to.Get(to.ctx, run.ID)
	to.ok(err)
	to.same("carried", now.Details.Carried, false)
	to.same("inputs", now.Inputs, run.Inputs)
	to.same("gates", now.Gates, run.Gates)
	if len(now.Details.Imported) == 0 {
		to.Fatal("nothing says that the run was imported")
	}
	_, err = to.Signal(to.ctx, approve(run.ID))
	to.ok(err)
	to.same("its end", to.ended(run.ID).Status, runtime.Completed)
	left, err := from.Get(from.ctx, run.ID)
	from.ok(err)
	from.same("the original", left.Status, runtime.Suspended)
	_, err = from.Signal(from.ctx, approve(run.ID))
	from.ok(err)
	from.ended(run.ID)
	_, err = from.archive().Import(from.ctx, runtime.ImportRequest{File: file})
	from.refused(runtime.ErrExists, err)
}

func testImportRefused(from, to *subject) {
	run := from.opened(review, "review")
	_, err := from.archive().Export(from.ctx, "nosuchrun")
	from.refused(runtime.ErrUnknownRun, err)
	file, err := from.archive().Export(from.ctx, run.ID)
	from.ok(err)
	changed := func(at int, to byte) []byte {
		b := bytes.Clone(file)
		b[at] = to
		return b
	}
	format := bytes.IndexByte(file, '\n') + 1
	for _, c := range []struct {
		name string
		file []byte
		kind runtime.ErrorKind
	}{
		{"nothing", nil, runtime.ErrNotAnExport},
		{"another file", []byte("a letter to somebody"), runtime.ErrNotAnExport},
		{"a newer format", changed(format, 2), runtime.ErrKindNewer},
		{"cut short", file[:len(file)/2], runtime.ErrKindDamaged},
		{"without its end", file[:len(file)-1], runtime.ErrKindDamaged},
		{"with more behind it", append(bytes.Clone(file), 0), runtime.ErrKindDamaged},
	} {
		_, err := to.archive().Import(to.ctx, runtime.ImportRequest{File: c.file})
		if kindOf(err) != c.kind {
			to.Errorf("%s: got %s: %v, want %s", c.name, kindOf(err), err, c.kind)
		}
	}
	for at := format + 1; at < len(file); at += 7 {
		if _, err := to.archive().Import(to.ctx, runtime.ImportRequest{File: changed(at, file[at]^0x40)}); kindOf(err) != runtime.ErrKindDamaged {
			to.Fatalf("byte %d of %d flipped: got %s: %v, want damaged", at, len(file), kindOf(err), err)
		}
	}
	agent := extension[runtime.Archive](to, to.agent("builder", run.ID))
	for _, trust := range []bool{false, true} {
		_, err = agent.Import(to.ctx, runtime.ImportRequest{File: file, TrustProject: trust})
		to.refused(runtime.ErrDenied, err)
	}
	l, err := to.List(to.ctx, runtime.Query{All: true})
	to.ok(err)
	to.same("runs after refused imports", len(l.Runs), 0)
}
