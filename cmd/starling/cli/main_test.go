package cli

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"starling/runtime/api"
	"starling/stdlib/agent/acptest"
	"starling/stdlib/process"
	"starling/stdlib/tool/tooltest"
)

// TestMain makes this test binary the program itself when it is called by the name starling, as the
// scripts and the guard do.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	// A program built with -race sleeps for a second before it exits, and these tests start
	// hundreds of them.
	if err := os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE"))); err != nil {
		panic(err)
	}
	if os.Getenv(clientVariable) != "" && filepath.Base(os.Args[0]) != "starling" {
		if err := beClient(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	if strings.HasSuffix(os.Args[0], ".test") {
		playMoreAtOnce()
	}
	testscript.Main(m, map[string]func(){"starling": func() { start(nil, crashing, skewed, doubting) }, "toolserver": func() { tooltest.Main(os.Args[1:]) },
		"raider":   func() { beRaider(os.Args[1:]) },
		"acpagent": func() { acptest.Main(os.Args[1:]) }})
}

// playMoreAtOnce has twice as many tests played at once as there are processors, unless a flag says
// how many: most of the time they wait for other processes.
func playMoreAtOnce() {
	flag.Parse()
	if given("test.parallel") {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*goruntime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// doubtVariable says why this machine cannot tell who calls, as one with an older kernel would.
const doubtVariable = "STARLING_TEST_DOUBT"

func doubting() string { return cmp.Or(os.Getenv(doubtVariable), api.Doubt()) }

// skewVariable names a file that says by how much the clock on the wall is wrong: "-1h". It may
// come, change and go at any time.
const skewVariable = "STARLING_TEST_SKEW"

func skewed() time.Time {
	now := time.Now()
	text, err := os.ReadFile(os.Getenv(skewVariable))
	if err != nil {
		return now
	}
	skew, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	return now.Add(skew)
}
