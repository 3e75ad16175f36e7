package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// checkCommand is the verb check. It needs no store and touches none.
func (c *call) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check SCRIPT...",
		Short:   "Say what can be said of scripts without running them",
		GroupID: "scripts",
		Args:    operands(1, -1),
		RunE:    func(_ *cobra.Command, scripts []string) error { return c.check(scripts) },
	}
	c.jsonFlag(cmd)
	return cmd
}

// checkDocument is what check prints.
type checkDocument struct {
	Schema      string           `json:"schema"`
	Diagnostics diagnostic.List  `json:"diagnostics"`
	Error       *runtime.Refusal `json:"error"` // null if no diagnostic is an error
}

// check finds what is wrong with each script. The findings are the result, so they go to standard output even where they are errors.
func (c *call) check(scripts []string) error {
	found := diagnostic.List{}
	for _, script := range scripts {
		list, err := c.checkOne(script)
		if err != nil {
			return err
		}
		found = append(found, list...)
	}
	var refused *runtime.Refusal
	if errs := countErrors(found); errs > 0 {
		c.code = runtime.ErrCheckFailed.ExitCode()
		refused = runtime.Refuse(runtime.ErrCheckFailed, "", "%d of the findings are errors", errs)
	}
	if c.json {
		return c.answerJSON(checkDocument{runtime.Schema, found, refused})
	}
	fmt.Fprint(c.stdout, found.Render())
	if refused != nil {
		c.notice("error: %s", refused.Message)
	}
	return nil
}

// checkOne checks one script. What cannot even be read is a finding too.
func (c *call) checkOne(script string) (diagnostic.List, error) {
	bundle, err := c.readBundle(script)
	var list diagnostic.List
	if errors.As(err, &list) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	return lang.Check(bundle, c.env), nil
}

func countErrors(list diagnostic.List) int {
	n := 0
	for _, d := range list {
		if d.Severity == diagnostic.Error {
			n++
		}
	}
	return n
}
