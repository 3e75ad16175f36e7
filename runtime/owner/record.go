package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"starling/runtime"
	"starling/runtime/api"
)

const recordName = "owner.json"

// Record is owner.json: who owns a store. It is true only while that process holds the lock. The
// names pid, started and socket stay in every version, so that each can find and stop an owner of
// another.
type Record struct {
	PID      int       `json:"pid"`
	Started  string    `json:"started"` // when the process started, as the kernel tells it: pid and this never come again together
	Build    string    `json:"build"`
	Protocol int       `json:"protocol"`
	Socket   string    `json:"socket"`
	Since    time.Time `json:"since"` // when it became the owner
}

func newRecord(build, socket string) Record {
	pid := os.Getpid()
	started, _ := processStart(pid) // this process runs
	return Record{PID: pid, Started: started, Build: build, Protocol: api.Protocol, Socket: socket, Since: time.Now().UTC().Truncate(time.Millisecond)}
}

// readRecord reads what the newest owner wrote; ok is false where there is nothing to be read.
func readRecord(dir string) (r Record, ok bool) {
	content, err := os.ReadFile(filepath.Join(dir, recordName))
	return r, err == nil && json.Unmarshal(content, &r) == nil
}

// write replaces owner.json, so that a reader sees the old or the new one. It need not survive a
// power cut, which ends the owner too. The caller holds the lock: nobody else writes here.
func (r Record) write(dir string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordName)
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// alive tells whether the process that wrote the record still runs.
func (r Record) alive() bool {
	started, ok := processStart(r.PID)
	return ok && started == r.Started
}

// unreachable is the refusal for a store that is held by a process which does not answer, or in
// whose place one answers that is not believed.
func unreachable(dir string, waited time.Duration, last error) *runtime.Refusal {
	if refusal := (*runtime.Refusal)(nil); errors.As(last, &refusal) {
		return refusal
	}
	r, ok := readRecord(dir)
	if !ok || !r.alive() {
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "find it with: lsof "+filepath.Join(dir, lockName),
			"the store %s is held by a process that has not said who it is within %v", dir, waited)
	}
	refusal := runtime.Refuse(runtime.ErrOwnerUnreachable, fmt.Sprintf("if it hangs, end it: kill %d", r.PID),
		"the store %s is owned by process %d, which has not answered within %v", dir, r.PID, waited)
	if processStopped(r.PID) { // SIGTERM would wait until it goes on
		refusal = runtime.Refuse(runtime.ErrOwnerUnreachable,
			fmt.Sprintf("have it go on: fg in its shell, or kill -CONT %d; or end it: starling stop", r.PID),
			"the store %s is owned by process %d, which was stopped (Ctrl-Z, SIGSTOP) and does not answer", dir, r.PID)
	}
	refusal.Data, _ = json.Marshal(r) // plain data of ours
	return refusal
}

// taken is the refusal for a second keeper. It does not say to wait for an owner that has come to
// stay: with a client, such as an MCP server, it never leaves by itself.
func taken(dir string, h api.Hello) *runtime.Refusal {
	help := "that is another serve, or the server that starling mcp keeps in the background. End it with: starling stop; its runs stay as they are, and who owns the store next carries them on"
	if h.Passing {
		help = "that is a command: wait until it is done, or end it with: starling stop"
	}
	refusal := runtime.Refuse(runtime.ErrOwnerUnreachable, help, "the store %s is owned by process %d (%s) already", dir, h.PID, h.Build)
	refusal.Data, _ = json.Marshal(h) // plain data of ours
	return refusal
}

// locked tells of a store that is closed to this user, or to whoever would write, from any other
// error.
func locked(dir string, err error) error {
	switch {
	case errors.Is(err, unix.EROFS), errors.Is(err, fs.ErrPermission) && onlyReadable(dir):
		return readOnly(dir, err)
	case errors.Is(err, fs.ErrPermission):
		return barred(dir, err)
	}
	return err
}

// readOnly is the refusal of what would write to a store that can only be read: one on a read-only
// disk, or one that this user has made so.
func readOnly(dir string, err error) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrKindReadOnly,
		"ps, show, logs, store check, store backup and export read it; "+
			"make it writable, or take another with --store DIR", "the store %s can only be read: %v", dir, err)
}

// onlyReadable tells whether this user may look into a directory and make nothing in it.
func onlyReadable(dir string) bool {
	return unix.Access(dir, unix.R_OK|unix.X_OK) == nil && unix.Access(dir, unix.W_OK) != nil
}

// barred is the refusal for a store in which this user may not work: that of somebody else or,
// after one call with sudo, their own.
func barred(dir string, err error) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrDenied, "work as the user it belongs to, give it to this one with chown -R, or take another with --store DIR",
		"the store %s is not open to user %d: %v", dir, os.Geteuid(), err)
}
