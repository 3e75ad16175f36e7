package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// database opens the store of an address, which is closed with the engine on it.
func database(t *testing.T, address string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), address, postgres.Options{Warn: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLocalIsAnEngineInPostgres(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	s := runtimetest.Subject{
		User:   "local:ann",
		Bundle: func(source string) []byte { return bundle(t, source, nil) },
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			env := environment(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} })
			e, err := engine.Open(database(t, server.Address()), env, engine.Options{Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return func(c runtime.Caller) runtime.Engine { return runtimetest.As(e, c) }
		},
	}
	runtimetest.TestEngine(t, s)
	runtimetest.TestExtensions(t, s)
}

// Runs that were written down in the past by a store on disk go on in a database, to the end that
// they had.
func TestKeptStoresInPostgres(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	for _, k := range kept {
		t.Run(k.name, func(t *testing.T) {
			stem := filepath.Join(storeDir(), k.name)
			text, err := os.ReadFile(stem + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			commits, err := os.ReadFile(stem + ".store")
			if err != nil {
				t.Fatal(err)
			}
			w, address := newWorld(t), server.Address()
			s := database(t, address)
			lines := bufio.NewScanner(bytes.NewReader(commits))
			for lines.Buffer(nil, 64<<20); lines.Scan(); {
				b := new(runtime.Batch)
				if err := json.Unmarshal(lines.Bytes(), b); err != nil {
					t.Fatal(err)
				}
				if err := s.Commit(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			w.engine.Close()
			w.spoiled = true // what its own store lacks
			w.engine = w.build(database(t, address), 0)
			run, answers, want := readEnd(t, string(text))
			if got := w.play(run, answers); got != want {
				t.Errorf("it came to\n%s\nwant\n%s", got, want)
			}
		})
	}
}
