package web

import (
	"net/http"

	"starling/runtime"
)

// Standby answers every request with 503 and who owns the store, for a server that waits to own it:
// refusal gives the answer of the moment. Nothing of a request is read.
func Standby(refusal func() *runtime.Refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Connection", "close") // the next request may find the owner here
		w.Header().Set("Retry-After", "1")
		refuse(w, refusal())
	})
}
