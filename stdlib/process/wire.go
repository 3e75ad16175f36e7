package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"starling/stdlib/sandbox"
)

// stopLine is what follows an order on the control pipe when the owner, alive, wants the child
// ended.
const stopLine = "stop\n"

// order is the first line of the control pipe: all that a guard is told. The package comment shows
// its bytes.
type order struct {
	Path     []byte        `json:"path"`
	Argv     [][]byte      `json:"argv"`
	Dir      []byte        `json:"dir"`
	Env      [][]byte      `json:"env"`
	Lock     []byte        `json:"lock"`
	LockWait time.Duration `json:"lock_wait"`
	Grace    time.Duration `json:"grace"`
	Attempt  Attempt       `json:"attempt"`

	Sandbox *sandbox.Policy `json:"sandbox,omitempty"`
}

func (o order) writeTo(w io.Writer) error { return json.NewEncoder(w).Encode(o) }

// readOrder reads a whole line or fails: half an order comes from an owner that died, and must
// start nothing.
func readOrder(r *bufio.Reader) (order, error) {
	var o order
	line, err := r.ReadBytes('\n')
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(line, &o)
}

// status is one line of the status pipe; exactly one field is set, but that Lacks and Bare may
// stand beside Started, Aside beside Gone.
type status struct {
	Waiting *Attempt `json:"waiting,omitempty"`
	Error   *refusal `json:"error,omitempty"`
	Started int      `json:"started,omitempty"`
	Lacks   []string `json:"lacks,omitempty"`
	Bare    []string `json:"bare,omitempty"`
	Exit    *int     `json:"exit,omitempty"`
	Signal  string   `json:"signal,omitempty"`
	Gone    bool     `json:"gone,omitempty"`
	Aside   []string `json:"aside,omitempty"`
}

type refusal struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Kinds of refusal on the wire.
const (
	kindLockBusy      = "lock_busy"
	kindStopped       = "stopped"
	kindSpec          = "spec"
	kindNotExecutable = "not_executable"
	kindSandbox       = "sandbox"
	kindGuard         = "guard"
)

// readStatus reads one line; io.EOF is a guard that has ended.
func readStatus(r *bufio.Reader) (status, error) {
	var s status
	line, err := r.ReadBytes('\n')
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("status line %q: %w", line, err)
	}
	return s, nil
}

func byteStrings(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func textStrings(list [][]byte) []string {
	out := make([]string, len(list)) // never nil: to os.StartProcess a nil environment is the guard's own
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
