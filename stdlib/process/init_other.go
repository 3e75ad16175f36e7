//go:build unix && !linux

package process

import (
	"encoding/json"

	"starling/stdlib/sandbox"
)

// initMain does nothing: there are no PID namespaces here.
func initMain(string, []string, []string, *json.Encoder) error { return sandbox.ErrUnavailable }
