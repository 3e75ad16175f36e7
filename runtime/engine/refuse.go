package engine

import "starling/runtime"

// refuse makes a refusal without help.
func refuse(kind runtime.ErrorKind, format string, args ...any) *runtime.Refusal {
	return runtime.Refuse(kind, "", format, args...)
}
