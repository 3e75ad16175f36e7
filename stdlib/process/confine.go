package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"syscall"

	"starling/stdlib/sandbox"
)

// A confined child is started in two steps: the guard starts this program once more as `starling
// __confine`, set apart as its sandbox wants. That process reads what it is to do from a pipe,
// confines itself, and tells the guard through another pipe what could not be enforced. In a PID
// namespace it is the first process and stays, starts the program and reaps for it (init_linux.go);
// otherwise it becomes the program. It has no argument and no variable: both can be read by the
// program.
const (
	confineVerb = "__confine"
	reportFD    = 3 // where the reports go; closed by exec
	taskFD      = 4 // where the confinement comes from
)

// confinement is what the process is told.
type confinement struct {
	Policy    sandbox.Policy    `json:"policy"`
	Isolation sandbox.Isolation `json:"isolation"`
	Path      []byte            `json:"path"`
	Argv      [][]byte          `json:"argv"`
	Env       [][]byte          `json:"env"`
}

// confinementReport is what comes back, one or more of them. A pipe that ends without any is a
// process that was killed.
type confinementReport struct {
	Lacks       []string `json:"lacks,omitempty"`
	Error       string   `json:"error,omitempty"`       // it could not be confined
	Unavailable bool     `json:"unavailable,omitempty"` // which is the system's fault
	Failed      string   `json:"failed,omitempty"`      // the program could not be executed
	Running     bool     `json:"running,omitempty"`     // it is, below a first process that stays
	Exit        *int     `json:"exit,omitempty"`        // how it has ended then
	Signal      string   `json:"signal,omitempty"`
}

// confineMain starts or becomes the program. It never returns.
func confineMain() {
	goruntime.LockOSThread() // what the thread may do is what the program may
	syscall.CloseOnExec(reportFD)
	syscall.CloseOnExec(taskFD)
	tell := json.NewEncoder(os.NewFile(reportFD, "report"))
	task := os.NewFile(taskFD, "task")
	var c confinement
	err := json.NewDecoder(task).Decode(&c)
	task.Close()
	var outcome sandbox.Outcome
	if err == nil {
		outcome, err = c.Policy.Enforce(c.Isolation)
	}
	if err != nil {
		tell.Encode(confinementReport{Error: err.Error(), Unavailable: errors.Is(err, sandbox.ErrUnavailable)})
		os.Exit(126)
	}
	tell.Encode(confinementReport{Lacks: outcome.Lacks})
	env := withoutDoubles(textStrings(c.Env), outcome.Env)
	if c.Isolation == sandbox.Own {
		err = initMain(string(c.Path), textStrings(c.Argv), env, tell)
	} else {
		err = syscall.Exec(string(c.Path), textStrings(c.Argv), env)
	}
	tell.Encode(confinementReport{Failed: err.Error()})
	os.Exit(126)
}

// withoutDoubles adds variables to an environment that does not have them.
func withoutDoubles(env, further []string) []string {
	for _, entry := range further {
		name, _, _ := strings.Cut(entry, "=")
		if _, there := variable(env, name); !there {
			env = append(env, entry)
		}
	}
	return env
}

// startConfined starts the child confined, and returns when it is the program. It takes the best
// isolation that can be had and that the policy goes on with.
func (g *guard) startConfined(attr *os.ProcAttr) (*os.Process, error) {
	var refused error
	for _, isolation := range g.order.Sandbox.Isolations() {
		g.lacks, attr.Sys = nil, childAttributes()
		isolation.Attributes(*g.order.Sandbox, attr.Sys)
		child, err := g.confine(attr, isolation)
		if err == nil || errors.Is(err, errExec) || errors.Is(err, syscall.E2BIG) {
			return child, err
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, refused
}

// confine starts the child in an isolation.
func (g *guard) confine(attr *os.ProcAttr, isolation sandbox.Isolation) (*os.Process, error) {
	self, err := ownExecutable()
	if err != nil {
		return nil, err
	}
	reports, report, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	task, tell, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, reports.Close(), report.Close())
	}
	confined := *attr
	confined.Files = append(attr.Files[:reportFD:reportFD], report, task)
	confined.Env = append([]string{}, unhurried...)
	// It has no marks (markedStart) but what it sets itself, which is more. Below that of Landlock,
	// which handles no files, one that does would keep files from being moved between folders.
	child, err := os.StartProcess(self, []string{"starling", confineVerb}, &confined)
	report.Close()
	task.Close()
	if err != nil {
		reports.Close()
		tell.Close()
		return nil, unavailable(isolation, err)
	}
	go func() { // a pipe holds less than arguments may
		json.NewEncoder(tell).Encode(confinement{*g.order.Sandbox, isolation, g.order.Path, g.order.Argv, g.order.Env})
		tell.Close()
	}()
	if err := g.readConfinement(reports); err != nil {
		child.Kill()
		child.Wait()
		reports.Close()
		return nil, err
	}
	return child, nil
}

// unavailable says that a process could not be started in namespaces, unless it has none.
func unavailable(isolation sandbox.Isolation, err error) error {
	if isolation == sandbox.Bare || errors.Is(err, syscall.E2BIG) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
		return err
	}
	return fmt.Errorf("%w: namespaces are not allowed: %w", sandbox.ErrUnavailable, err)
}

// readConfinement reads until the program is there: until exec has closed the pipe, or the first
// process says so. Then the reports go on in a goroutine.
func (g *guard) readConfinement(r *os.File) error {
	reports := json.NewDecoder(r)
	var last confinementReport
	n := 0
	for ; !last.Running && reports.More(); n++ {
		last = confinementReport{}
		if err := reports.Decode(&last); err != nil {
			return err
		}
		g.lacks = append(g.lacks, last.Lacks...)
	}
	switch {
	case n == 0:
		return errors.New("the process ended while it was being confined")
	case last.Unavailable:
		return &refusedSandbox{last.Error}
	case last.Error != "":
		return fmt.Errorf("the process could not be confined: %s", last.Error)
	case last.Failed != "":
		return fmt.Errorf("%w: %s", errExec, last.Failed)
	case !last.Running:
		return r.Close()
	}
	g.program = make(chan status, 1)
	go func() {
		defer r.Close()
		defer close(g.program)
		var end confinementReport
		if reports.Decode(&end) == nil {
			g.program <- status{Exit: end.Exit, Signal: end.Signal}
		}
	}()
	return nil
}

// refusedSandbox is a sandbox.ErrUnavailable of another process.
type refusedSandbox struct{ message string }

func (e *refusedSandbox) Error() string { return e.message }
func (e *refusedSandbox) Unwrap() error { return sandbox.ErrUnavailable }
