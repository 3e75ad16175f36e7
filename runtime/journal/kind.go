package journal

import "starling/lang/effect"

// The kinds of request that the runtime serves itself.
const (
	KindGate    = "gate"
	KindSleep   = "sleep"
	KindMailbox = "mailbox.take"
	KindRun     = "run"
	KindProject = "memory.project"
	KindQueue   = "queue"
	KindVars    = "memory.vars"
	KindChat    = "memory.chat"
)

// Waits tells whether a kind of request does nothing but wait.
func Waits(kind string) bool { return kind == KindGate || kind == KindSleep || kind == KindMailbox }

// AgentKind tells whether a request's outcome is a Result.
func AgentKind(kind string) bool { return kind == "agent" || kind == "handoff" }

// AgentName is the name of the role that was asked.
func AgentName(args effect.View) string {
	for _, field := range []string{"who", "to"} {
		if name := args.Text(field); name != "" {
			return name
		}
		if name := args.TextIn(field, "name"); name != "" {
			return name
		}
	}
	return ""
}

// The classes of an ended attempt.
const (
	ClassOK          = "ok"
	ClassRetryable   = "retryable"
	ClassInvalid     = "invalid"
	ClassDegraded    = "degraded" // meets its contract by placeholders only
	ClassMissing     = "missing"  // the next backend is to serve
	ClassFinal       = "final"
	ClassUncertain   = "uncertain"
	ClassInterrupted = "interrupted"
	ClassSteered     = "steered" // ended to go on with a message
	ClassExpired     = "expired" // the lease of a claim has passed
)
