//go:build unix && !linux

package process

import (
	"fmt"
	"os"
)

// markedStart starts a program: there are no marks here. One that cannot be executed is errExec.
func markedStart(path string, argv []string, attr *os.ProcAttr) (*os.Process, []string, error) {
	child, err := os.StartProcess(path, argv, attr)
	if err != nil {
		err = fmt.Errorf("%w: %w", errExec, err)
	}
	return child, nil, err
}
