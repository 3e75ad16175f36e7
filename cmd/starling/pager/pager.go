// Package pager shows long output a screen at a time: through less, or what $PAGER says.
package pager

import (
	"io"
	"os"
	"os/exec"
	"strings"
)

// A Pager is a program that shows what is written to it.
type Pager struct {
	io.Writer
	pipe io.Closer
	cmd  *exec.Cmd
}

// Open starts the pager that the environment names, on a terminal; nil where there is none, or it
// is empty or cat. less leaves at once where all fits the screen.
func Open(terminal *os.File, getenv func(string) (string, bool)) *Pager {
	name, told := getenv("STARLING_PAGER")
	if !told {
		name, told = getenv("PAGER")
	}
	if !told {
		name = "less"
	}
	words := strings.Fields(name)
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = terminal, os.Stderr, os.Environ()
	if _, set := getenv("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	return &Pager{in, in, cmd}
}

// Close waits until the reader has left.
func (p *Pager) Close() {
	_ = p.pipe.Close()
	_ = p.cmd.Wait() // how a pager ends says nothing
}
