package owner

import (
	"net"
	"net/http"

	"starling/runtime"
)

// Expose answers on l, for as long as this process owns the store, with a handler of the engine
// itself: unlike a session's, its callers are those that the handler puts into the context. It
// returns at once; l is closed with the session. A session that is not the owner's refuses with
// owner_unreachable.
func (s *Session) Expose(l net.Listener, face func(runtime.Engine) (http.Handler, error)) error {
	t, ok := s.current().(*ownership)
	if !ok || t.server == nil {
		return runtime.Refusef(runtime.ErrOwnerUnreachable, "this process does not own the store")
	}
	h, err := face(t.engine)
	if err != nil {
		return err
	}
	go t.server.Expose(l, h) // ends with the listener, in leave
	return nil
}
