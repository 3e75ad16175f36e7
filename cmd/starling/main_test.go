package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"starling/stdlib/process"
)

// TestMain makes this test binary the program itself when it is called by the name starling, as the scripts and the guard do.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	testscript.Main(m, map[string]func(){"starling": func() { start(openCrashing) }})
}
