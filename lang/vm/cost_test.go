package vm_test

import (
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

var costLimits = vm.Limits{Memory: 8 << 20, Steps: 5_000_000}

// TestBombs plays the scripts of testdata/bombs, which ask for more than their run may use. Each
// ends by the limit that its first line tells, with a backtrace, and has not been given much more
// than that by then. What is doubled to its limit stays there, so that one more operation goes
// over.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	files, err := filepath.Glob("../../testdata/bombs/*.star")
	if err != nil || len(files) < 63 {
		t.Fatalf("%d bombs are there: %v", len(files), err)
	}
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".star"), func(t *testing.T) {
			script := readText(t, file)
			want, _, _ := strings.Cut(strings.TrimPrefix(script, "# ends: "), "\n")
			m := startFile(t, script, env)
			m.SetLimits(costLimits)
			stop := m.Run(nobody)
			for stop.Status == vm.Yielded {
				stop = m.Run(nobody)
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			if stop.Status != vm.Failed || !regexp.MustCompile(want).MatchString(stop.Err.Message) {
				t.Fatalf("it ended %v, %v; want an error with %q", stop.Status, stop.Err, want)
			}
			if stop.Err.Backtrace == "" {
				t.Errorf("%v has no backtrace", stop.Err)
			}
			if held := int64(mem.HeapSys); held > 128*costLimits.Memory {
				t.Fatalf("the process has grown to %d MB; the limit of the script is %d MB", held>>20, costLimits.Memory>>20)
			}
		})
	}
}

// startFile makes a machine of a script as the product does.
func startFile(t testing.TB, text string, env *effect.Environment) *vm.Machine {
	t.Helper()
	bundle, err := lang.Read("main.star", func(string) ([]byte, error) { return []byte(text), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lang.Compile(bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	image, err := vm.Load(program.Modules, env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
