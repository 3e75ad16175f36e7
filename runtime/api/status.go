package api

import (
	"net/http"

	"starling/runtime"
)

// StatusOf is the HTTP status of a refusal. It is for people with curl and for proxies; the client
// reads the kind.
func StatusOf(kind runtime.ErrorKind) int {
	switch kind {
	case runtime.ErrUsage:
		return http.StatusBadRequest
	case runtime.ErrBadPayload, runtime.ErrBadChoice, runtime.ErrBadInput, runtime.ErrCheckFailed, runtime.ErrDiverged, runtime.ErrNotAnExport, runtime.ErrNotABackup, runtime.ErrRunFailed, runtime.ErrRunCancelled, runtime.ErrBelowLeast, runtime.ErrUnwritten:
		return http.StatusUnprocessableEntity
	case runtime.ErrUnknownRun, runtime.ErrUnknownGate, runtime.ErrUnknownStep, runtime.ErrUnknownDefinition, runtime.ErrUnknownName, runtime.ErrUnknownToken,
		runtime.ErrUnknownSchedule:
		return http.StatusNotFound
	case runtime.ErrNotOpen, runtime.ErrUnsteerable, runtime.ErrAmbiguous, runtime.ErrDecided, runtime.ErrExpired, runtime.ErrClaimed, runtime.ErrClosed, runtime.ErrKeyConflict, runtime.ErrExists, runtime.ErrDrifted:
		return http.StatusConflict
	case runtime.ErrTrimmed:
		return http.StatusGone
	case runtime.ErrBudget:
		return http.StatusPaymentRequired
	case runtime.ErrDenied, runtime.ErrWrongTarget:
		return http.StatusForbidden
	case runtime.ErrUnreachable:
		return http.StatusBadGateway
	case runtime.ErrUnsupported:
		return http.StatusNotImplemented
	case runtime.ErrKindFull:
		return http.StatusInsufficientStorage
	case runtime.ErrKindReadOnly, runtime.ErrKindExhausted,
		runtime.ErrKindFailed, runtime.ErrKindNotAStore, runtime.ErrKindDamaged, runtime.ErrKindNewer, runtime.ErrStoreUnreachable, runtime.ErrOwnerUnreachable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
