// Package agent asks agents: it resolves who is meant, sends one request to one backend, and reads
// what came back.
//
// A call goes through it twice. [resolver.resolve] completes the request when the script makes it:
// the role or name becomes a definition (who serves, with which command, instructions, limits and
// contract), which is recorded with the request and never holds a credential. The backend then
// performs one attempt at a time; retrying, asking again and giving up are the runtime's.
//
//	who ──► fake, then project file ──► definition, recorded ──► Backend.Ask ──► effect.Reply
//
// # What an agent is sent
//
// The same record goes to every backend; LANGUAGE calls it the request. Fields that are not known
// are null, never absent:
//
//	schema         "starling/agent/v1"
//	key            idempotency key: the same for every attempt of the step
//	run, step      whose work it is
//	attempt        from 1
//	agent          its name
//	task           what to do, in words
//	input          what to do it on; for a handoff the payload
//	context        what may help
//	instructions   what the agent is told with every task
//	output_schema  JSON Schema of the reply
//	feedback       [{path, got, want}]: why the previous reply was not accepted
//	deadline       timestamp
//	handoff        {from, to, cycle, constraints}: the rest of the envelope, null for what is no handoff
//	messages       what it was told while it worked, and is to heed before all else
//
// Who does not read this record gets it in words (presets, models, agents with ACP) or the fields
// that it has names for (an agent that is a tool).
//
// # What it answers
//
// See [parseAnswer] for the form, and exit codes of commands in [exitFailure].
package agent
