package tool

import (
	"fmt"

	"starling/lang/effect"
)

// Code says why a tool was not called, or gave nothing.
type Code string

// The codes. Of denied calls the server never heard.
const (
	NotAllowed  Code = "not_allowed"         // denied: the tool is not on the list
	Changed     Code = "definitions_changed" // denied: the server's tools are not what they were, or not what the project expects
	TooMany     Code = "too_many_calls"      // denied: the attempt has made MaxCalls
	UnknownTool Code = "unknown_tool"        // the server has no such tool
	BadInput    Code = "bad_input"           // the arguments are no object, or the server refuses them
	NotStarted  Code = "not_started"         // the server cannot be started or reached; the call was not sent
	Died        Code = "server_died"         // the server ended, or the connection broke, after the call was sent
	Timeout     Code = "timeout"             // no result within the time of one call
	TooLarge    Code = "too_large"           // the result is larger than max_bytes
	Failed      Code = "failed"              // the server answers with an error of the protocol
	Cancelled   Code = "cancelled"           // whoever called has ended
)

// Fault is why a call came to nothing. What a tool itself reports as its failure is a result.
type Fault struct {
	Code    Code
	Server  string
	Tool    string
	Message string
	Missing bool // with NotStarted: what is lacking will not come by itself: the program, a variable
}

// Error is the message.
func (f *Fault) Error() string { return f.Message }

// Denied tells whether the call was kept from the server.
func (f *Fault) Denied() bool { return f.Code == NotAllowed || f.Code == Changed || f.Code == TooMany }

// Passing tells whether another call may succeed.
func (f *Fault) Passing() bool { return f.Code == Died || f.Code == NotStarted && !f.Missing }

// Effect is the fault as scripts see it: its data has server, tool and reason.
func (f *Fault) Effect() *effect.Error {
	kind := effect.KindEffect
	switch {
	case f.Denied():
		kind = effect.KindDenied
	case f.Code == Timeout:
		kind = effect.KindTimeout
	case f.Code == Cancelled:
		kind = effect.KindCancelled
	case f.Code == UnknownTool || f.Code == BadInput:
		kind = effect.KindRefused
	}
	e := effect.Errorf(kind, "%s", f.Message)
	var o effect.Object
	e.Data = o.Text("server", f.Server).Text("tool", f.Tool).Text("reason", string(f.Code)).Payload()
	return e
}

// faultf makes the fault of a server, or of one of its tools.
func faultf(code Code, server, tool, format string, args ...any) *Fault {
	name := server
	if tool != "" {
		name += "." + tool
	}
	return &Fault{Code: code, Server: server, Tool: tool, Message: name + ": " + fmt.Sprintf(format, args...)}
}
