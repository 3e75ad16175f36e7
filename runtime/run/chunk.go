package run

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// A session is a run whose program grows: each chunk is a script of its own over the globals of
// those before it. A chunk is journaled with its bundle when it is accepted; when it has ended,
// chunk.ended tells its value or its error, and the run rests until the next. An error ends the
// chunk, not the run. A chunk that is interrupted ends with an error, where it stands.

// takeChunk takes a chunk of a session. One at a time: the chunk before must have ended.
func (t *Turn) takeChunk(who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	switch {
	case t.State.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "session %s is %s", t.State.ID, t.State.Status)
	case !t.State.Session:
		return nil, runtime.Refusef(runtime.ErrUsage, "run %s is not a session: it takes no chunks", t.State.ID)
	case t.Machine == nil:
		return nil, t.quarantined()
	case t.State.Busy:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "session %s is still running its last chunk", t.State.ID).WithHelp("answer what it waits for, or cancel the session")
	}
	code, err := t.Host.compileChunk(t.Machine, s.Bundle)
	if err != nil {
		return nil, CheckFailed(err)
	}
	t.wake()
	var b effect.Object
	seq := t.record(journal.ChunkAppended, "", b.Blob("bundle", s.Bundle).Texts("who", who).Text("key", s.Key).Payload())
	if err := t.Host.appendChunk(t.Machine, code); err != nil {
		t.endChunk(vm.Stop{Status: vm.Idle, Err: scriptError(err)})
		return &runtime.Receipt{Seq: seq}, nil
	}
	t.slice()
	return &runtime.Receipt{Seq: seq}, nil
}

// interrupt ends the chunk in progress.
func (t *Turn) interrupt(who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	switch {
	case !t.State.Session:
		return nil, runtime.Refusef(runtime.ErrUsage, "run %s is not a session: it has no statement to interrupt", t.State.ID).WithHelp("end it: starling cancel %s", t.State.ID)
	case t.State.Status.Ended() || !t.State.Busy:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "session %s is at no statement", t.State.ID)
	case t.Machine == nil:
		return nil, t.quarantined()
	}
	t.wake()
	var b effect.Object
	b.Texts("who", who).Text("key", s.Key)
	if t.Yielded { // in the middle of its work, where replay has to stop it too
		b.Int("steps", int64(t.Machine.Steps()))
	}
	seq := t.record(journal.ChunkInterrupted, "", b.Payload())
	t.stopped(t.Machine.Interrupt())
	return &runtime.Receipt{Seq: seq}, nil
}

// endChunk records what a chunk came to.
func (t *Turn) endChunk(stop vm.Stop) {
	if !t.State.Busy {
		return // a session that has had no chunk yet
	}
	t.record(journal.ChunkEnded, "", chunkPayload(stop))
}

// chunkPayload is what a chunk came to.
func chunkPayload(stop vm.Stop) effect.Payload {
	var b effect.Object
	if stop.Err == nil && stop.Value != nil && stop.Value != starlark.None {
		b.Text("value", shortened(stop.Value.String()))
	}
	return b.Raw("error", stop.Err.Payload()).Payload()
}

// maxShown bounds the text of a chunk's value, bytes: it is for people.
const maxShown = 64 << 10

func shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}

// compileChunk compiles a chunk over the globals that the session has.
func (h *Host) compileChunk(m *vm.Machine, encoded []byte) (*lang.Program, error) {
	bundle, err := lang.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("the chunk: %w", err)
	}
	globals := m.Globals()
	return lang.CompileChunk(bundle, globals.Has, h.Program.Env)
}

// appendChunk gives the machine the modules of a chunk.
func (h *Host) appendChunk(m *vm.Machine, code *lang.Program) error {
	return m.Append(code.Modules)
}
