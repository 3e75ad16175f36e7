package runtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
)

// ErrStopWatch ends a Watch from within its function.
var ErrStopWatch = errors.New("stop watching")

// ErrorKind names a refusal for machines. Each has one exit code, which groups them for shells.
type ErrorKind string

// The kinds, by when they occur.
const (
	// A run's end.
	ErrRunFailed    ErrorKind = "run_failed"
	ErrRunCancelled ErrorKind = "run_cancelled"
	// The command line itself.
	ErrUsage ErrorKind = "usage"
	// Something that was handed in is not acceptable; nothing has changed.
	ErrBadPayload  ErrorKind = "bad_payload"
	ErrBadChoice   ErrorKind = "bad_choice"
	ErrBadInput    ErrorKind = "bad_input"
	ErrCheckFailed ErrorKind = "check_failed"
	ErrDiverged    ErrorKind = "diverged" // a replay asks or says something else than the journal has
	ErrDrifted     ErrorKind = "drifted"  // the workspace stands at another commit than what was done there
	ErrNotAnExport ErrorKind = "not_an_export"
	ErrNotABackup  ErrorKind = "not_a_backup"
	// An address leads nowhere.
	ErrUnknownRun        ErrorKind = "unknown_run"
	ErrUnknownGate       ErrorKind = "unknown_gate"
	ErrUnknownStep       ErrorKind = "unknown_step"
	ErrUnknownDefinition ErrorKind = "unknown_definition"
	ErrUnknownName       ErrorKind = "unknown_name" // of the language, or of starling.toml
	ErrUnknownToken      ErrorKind = "unknown_token"
	ErrUnknownSchedule   ErrorKind = "unknown_schedule"
	ErrNotOpen           ErrorKind = "not_open"
	ErrAmbiguous         ErrorKind = "ambiguous"
	ErrUnsteerable       ErrorKind = "unsteerable" // whoever serves takes no messages while it works
	// The run is there, but what is asked for of its past is not kept any more (trim.go).
	ErrTrimmed ErrorKind = "trimmed"
	// Fewer mutants were noticed than was asked for.
	ErrBelowLeast ErrorKind = "below_least"
	// What was done is done, but standard output has not taken all of what was to be told of it.
	ErrUnwritten ErrorKind = "unwritten"
	// Another server, none of Starling's, was not reached or did not take what it was sent.
	ErrUnreachable ErrorKind = "unreachable"
	// A budget is used up.
	ErrBudget ErrorKind = "budget"
	// The engine has not got what is asked for.
	ErrUnsupported ErrorKind = "unsupported"
	// The store or its owner.
	ErrKindNotAStore    ErrorKind = "not_a_store"
	ErrKindDamaged      ErrorKind = "damaged"
	ErrKindNewer        ErrorKind = "newer"
	ErrKindFull         ErrorKind = "full"
	ErrKindFailed       ErrorKind = "store_failed"      // the disk gave an error; what was acknowledged is there
	ErrKindReadOnly     ErrorKind = "read_only"         // what was asked for would write
	ErrKindExhausted    ErrorKind = "exhausted"         // the system has no more file descriptors to give
	ErrStoreUnreachable ErrorKind = "store_unreachable" // its server does not answer, or not to this user
	ErrOwnerUnreachable ErrorKind = "owner_unreachable"
	ErrInternal         ErrorKind = "internal" // a defect of ours
	// Somebody was first.
	ErrDecided     ErrorKind = "decided"
	ErrExpired     ErrorKind = "expired"
	ErrClaimed     ErrorKind = "claimed" // somebody else has taken the work
	ErrClosed      ErrorKind = "closed"
	ErrKeyConflict ErrorKind = "key_conflict"
	ErrExists      ErrorKind = "exists" // a run with this id and another journal is there
	// Not allowed.
	ErrDenied      ErrorKind = "denied"
	ErrWrongTarget ErrorKind = "wrong_target"
)

var exitCodes = map[ErrorKind]int{
	ErrRunFailed: 1, ErrRunCancelled: 1, ErrInternal: 1, ErrUnreachable: 1,
	ErrUsage:      2,
	ErrBadPayload: 4, ErrBadChoice: 4, ErrBadInput: 4, ErrCheckFailed: 4, ErrDiverged: 4, ErrDrifted: 4, ErrNotAnExport: 4, ErrNotABackup: 4, ErrUnsupported: 4,
	ErrUnknownRun: 5, ErrUnknownGate: 5, ErrUnknownStep: 5, ErrUnknownDefinition: 5, ErrUnknownName: 5, ErrUnknownToken: 5, ErrUnknownSchedule: 5, ErrNotOpen: 5, ErrAmbiguous: 5, ErrUnsteerable: 5,
	ErrBudget:        6,
	ErrKindNotAStore: 7, ErrKindDamaged: 7, ErrKindNewer: 7, ErrKindFull: 7, ErrKindFailed: 7, ErrKindReadOnly: 7, ErrKindExhausted: 7, ErrStoreUnreachable: 7, ErrOwnerUnreachable: 7,
	ErrDecided: 8, ErrExpired: 8, ErrClaimed: 8, ErrClosed: 8, ErrKeyConflict: 8, ErrExists: 8,
	ErrDenied: 9, ErrWrongTarget: 9,
	ErrTrimmed:    10,
	ErrBelowLeast: 11,
	ErrUnwritten:  12,
}

// ErrorKinds lists all of them, by name.
func ErrorKinds() []ErrorKind { return slices.Sorted(maps.Keys(exitCodes)) }

// ExitSuspended is the exit code of a command that leaves a run at rest.
const ExitSuspended = 3

// ExitCode is the process exit code of a kind.
func (k ErrorKind) ExitCode() int {
	if c, ok := exitCodes[k]; ok {
		return c
	}
	return 1
}

// Refusal is an answer that is no: what was wrong, and what to try. It travels to every face of an
// engine unchanged, which shows its callers the hint that they can follow: [Refusal.ForTools],
// [Refusal.ForShell].
type Refusal struct {
	Kind    ErrorKind       `json:"kind"`
	Message string          `json:"message"`        // where, got, wanted
	Help    string          `json:"help,omitempty"` // what to try, on a command line
	Call    string          `json:"call,omitempty"` // the same for who has tools in its place; each face shows its own, and nothing of the other
	Data    json.RawMessage `json:"data,omitempty"` // for machines: the original decision, the candidates, the violations
}

func (r *Refusal) Error() string { return r.Message }

// Reason is what is behind an error that names its file or call once more, as those of package os
// do, for a message that has named it; an error with nothing behind it is its own reason.
func Reason(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Refusef is Refuse without help.
func Refusef(kind ErrorKind, format string, args ...any) *Refusal {
	return Refuse(kind, "", format, args...)
}

// Refuse makes a refusal for packages around the engine. Where one of args is an error with which
// the system says that it has no room or no descriptor, that is its kind, whatever was being done.
func Refuse(kind ErrorKind, help, format string, args ...any) *Refusal {
	for _, a := range args {
		err, ok := a.(error)
		if own, what := ofSystem(err); ok && own != "" {
			kind, help = own, what
		}
	}
	return &Refusal{Kind: kind, Message: fmt.Sprintf(format, args...), Help: help}
}

// ofSystem is the kind of what the system lacks, with what to try; "" for every other error.
func ofSystem(err error) (ErrorKind, string) {
	for _, no := range []error{syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, no) {
			return ErrKindExhausted, "allow more descriptors, with ulimit -n; 256 are enough for most"
		}
	}
	if errors.Is(err, syscall.EFBIG) {
		return ErrKindFull, "nothing that was acknowledged is lost: allow longer files, with ulimit -f"
	}
	for _, no := range []error{ErrFull, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, no) {
			return ErrKindFull, freeSpace
		}
	}
	return "", ""
}

// freeSpace is what helps where there is no room.
const freeSpace = "nothing that was acknowledged is lost: free some space and start again; " +
	"starling store gc and starling prune give back some"

// WithHelp says what to try, on a command line, and returns r.
func (r *Refusal) WithHelp(format string, args ...any) *Refusal {
	r.Help = fmt.Sprintf(format, args...)
	return r
}

// WithCall says what helps who has tools, where WithHelp has spoken of a command line, and returns
// r.
func (r *Refusal) WithCall(format string, args ...any) *Refusal {
	r.Call = fmt.Sprintf(format, args...)
	return r
}

// ForTools is the refusal as it is shown to who has tools. r is not changed.
func (r *Refusal) ForTools() *Refusal {
	own := *r
	own.Help, own.Call = cmp.Or(r.Call, r.Help), ""
	return &own
}

// ForShell is the refusal as it is shown on a command line. r is not changed.
func (r *Refusal) ForShell() *Refusal {
	own := *r
	own.Call = ""
	return &own
}

// WithData adds what machines read, plain data of ours, and returns r.
func (r *Refusal) WithData(data any) *Refusal {
	r.Data, _ = json.Marshal(data)
	return r
}

// AsRefusal turns any error into a refusal; what is not one already is internal.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	if errors.Is(err, ErrStoreClosed) {
		return ErrShuttingDown // it was met by somebody who was still there
	}
	for _, k := range []struct {
		err  error
		kind ErrorKind
	}{{ErrNotAStore, ErrKindNotAStore}, {ErrNoStore, ErrKindNotAStore}, {ErrNewer, ErrKindNewer}, {ErrFull, ErrKindFull}, {ErrReadOnly, ErrKindReadOnly}, {ErrTooLarge, ErrBadPayload}, {ErrFailed, ErrKindFailed}, {ErrDamaged, ErrKindDamaged}, {ErrLocked, ErrOwnerUnreachable}, {ErrLost, ErrOwnerUnreachable}} {
		if errors.Is(err, k.err) {
			r = &Refusal{Kind: k.kind, Message: err.Error()}
			if d := (*DamagedRun)(nil); errors.As(err, &d) {
				r.Help = "the other runs are served; starling store check says what is damaged. " + mendRun
			}
			if k.err == ErrFailed {
				r.Help = "nothing that was acknowledged is lost: see what the system says of the disk, and start again; starling store check reads everything"
			}
			if k.err == ErrLost {
				r.Help = "ask again: the newer owner answers, and goes on with the runs"
			}
			if k.err == ErrFull {
				_, r.Help = ofSystem(err)
			}
			return r
		}
	}
	kind, help := ofSystem(err)
	return &Refusal{Kind: cmp.Or(kind, ErrInternal), Message: err.Error(), Help: help}
}

// Moved refuses a store that another one has taken the place of.
func Moved(to string) *Refusal {
	return Refuse(ErrKindNotAStore, "name that one, with --store or in [store] of starling.toml; starling store copy brings it back", "the store was moved to %s", to)
}

// ErrShuttingDown: the engine is closing and takes nothing more.
var ErrShuttingDown = Refusef(ErrOwnerUnreachable, "the owner of the store is shutting down").WithHelp("what was acknowledged is kept: try again in a moment")
