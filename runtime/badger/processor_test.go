package badger

import (
	goruntime "runtime"
	"testing"
)

func TestSpareProcessor(t *testing.T) {
	found := goruntime.GOMAXPROCS(0)
	for env, want := range map[string]int{"": found + 1, "7": found} {
		t.Setenv("GOMAXPROCS", env)
		undo := SpareProcessor()
		if got := goruntime.GOMAXPROCS(0); got != want {
			t.Errorf("GOMAXPROCS=%s: got %d processors, want %d", env, got, want)
		}
		undo()
		if got := goruntime.GOMAXPROCS(0); got != found {
			t.Errorf("GOMAXPROCS=%s: got %d processors afterwards, want %d", env, got, found)
		}
	}
}
