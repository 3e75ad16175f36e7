package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"starling/stdlib/process"
)

// TestMain makes this test binary the program itself when it is called by the name starling, as the scripts and the guard do.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	// A program built with -race sleeps for a second before it exits, and these tests start hundreds of them.
	if err := os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE"))); err != nil {
		panic(err)
	}
	if os.Getenv(clientVariable) != "" && filepath.Base(os.Args[0]) != "starling" {
		if err := beClient(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	testscript.Main(m, map[string]func(){"starling": func() { start(openCrashing) }})
}
