package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"starling/lang"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/stdlib"
)

// FuzzExport: whatever stands in a file, with the checksum that fits it, Import refuses it as what
// it is, or takes a run that can be looked at. Nothing of it is a defect of ours.
func FuzzExport(f *testing.F) {
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})
	open := func() *engine.Local {
		env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
		e, err := engine.Open(memory.New(), env, engine.Options{})
		if err != nil {
			f.Fatal(err)
		}
		return e
	}
	from := open()
	const script = "def main(n):\n    print(n)\n    return gate(\"g\").payload\n"
	files := func(string) ([]byte, error) { return []byte(script), nil }
	b, err := lang.Read("main.star", files, stdlib.Library)
	if err != nil {
		f.Fatal(err)
	}
	request := runtime.StartRequest{Bundle: b.Encode(), Script: "main.star", Inputs: []byte(`{"n": 1}`)}
	run, err := from.Start(ctx, request)
	if err != nil {
		f.Fatal(err)
	}
	file, err := from.Export(ctx, run.ID)
	if err := errors.Join(err, from.Close()); err != nil {
		f.Fatal(err)
	}
	const end = 1 + 1 + sha256.Size // kind, length, checksum
	f.Add(file[:len(file)-end])
	f.Add([]byte("starling export\n\x01"))
	to := open()
	f.Cleanup(func() { to.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		file := append(binary.AppendUvarint(append(body[:len(body):len(body)], 'e'), sha256.Size), sum[:]...)
		done, err := to.Import(ctx, runtime.ImportRequest{File: file})
		if err == nil {
			_, err = to.Get(ctx, done.Run)
		}
		if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrInternal {
			t.Errorf("%q: %v", body, err)
		}
	})
}
