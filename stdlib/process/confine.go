package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"syscall"

	"starling/stdlib/sandbox"
)

// A confined child is started in two steps: the guard starts this program once more as `starling __confine ORDER ARG...`, in namespaces of its own where they are
// allowed. That process confines itself, tells the guard through a pipe what could not be enforced, and becomes the program: no process stays between.
const (
	confineVerb = "__confine"
	confineFD   = 3 // where the report goes; closed by exec
)

// confinement is the ORDER.
type confinement struct {
	Policy   sandbox.Policy `json:"policy"`
	Path     []byte         `json:"path"`
	Isolated bool           `json:"isolated"` // in namespaces of its own
}

// confinementReport is what comes back. A pipe that ends without one is a process that was killed.
type confinementReport struct {
	Lacks  []string `json:"lacks,omitempty"`
	Error  string   `json:"error,omitempty"`  // it could not be confined
	Failed string   `json:"failed,omitempty"` // the program could not be executed
}

// confineMain becomes the program. It never returns.
func confineMain(args []string) {
	goruntime.LockOSThread() // what the thread may do is what the program may
	report := os.NewFile(confineFD, "report")
	syscall.CloseOnExec(confineFD)
	tell := json.NewEncoder(report)
	var c confinement
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		tell.Encode(confinementReport{Error: err.Error()})
		os.Exit(126)
	}
	lacks, err := c.Policy.Enforce(c.Isolated)
	if err != nil {
		tell.Encode(confinementReport{Error: err.Error()})
		os.Exit(126)
	}
	tell.Encode(confinementReport{Lacks: lacks})
	err = syscall.Exec(string(c.Path), args[1:], os.Environ())
	tell.Encode(confinementReport{Failed: err.Error()})
	os.Exit(126)
}

// startConfined starts the child confined, and returns when it is the program.
func (g *guard) startConfined(attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = childAttributes()
	g.order.Sandbox.Namespaces(attr.Sys)
	child, err := g.confine(attr, true)
	if err == nil || errors.Is(err, syscall.E2BIG) || errors.Is(err, errExec) {
		return child, err
	}
	g.lacks, attr.Sys = nil, childAttributes() // namespaces are not allowed everywhere
	return g.confine(attr, false)
}

func (g *guard) confine(attr *os.ProcAttr, isolated bool) (*os.Process, error) {
	self, err := ownExecutable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(confinement{*g.order.Sandbox, g.order.Path, isolated})
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	confined := *attr
	confined.Files = append(attr.Files[:confineFD:confineFD], w)
	argv := append([]string{"starling", confineVerb, string(order)}, textStrings(g.order.Argv)...)
	child, lacks, err := markedStart(self, argv, &confined)
	w.Close()
	if err != nil {
		return nil, err
	}
	g.lacks = append(g.lacks, lacks...)
	if err := g.readConfinement(r); err != nil {
		child.Kill()
		child.Wait()
		return nil, err
	}
	return child, nil
}

// readConfinement reads until exec has closed the pipe.
func (g *guard) readConfinement(r io.Reader) error {
	reports := json.NewDecoder(r)
	var last confinementReport
	n := 0
	for ; reports.More(); n++ {
		if err := reports.Decode(&last); err != nil {
			return err
		}
		g.lacks = append(g.lacks, last.Lacks...)
	}
	switch {
	case n == 0:
		return errors.New("the process ended while it was being confined")
	case last.Error != "":
		return fmt.Errorf("the process could not be confined: %s", last.Error)
	case last.Failed != "":
		return fmt.Errorf("%w: %s", errExec, last.Failed)
	}
	return nil
}
