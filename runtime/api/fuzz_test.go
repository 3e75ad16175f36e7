package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/stdlib"
)

// FuzzProtocol: whatever comes over the socket of the owner, the answer is no defect of ours, and
// the owner goes on answering.
func FuzzProtocol(f *testing.F) {
	e, err := engine.Open(memory.New(), stdlib.Environment(stdlib.Options{Natives: vm.Natives()}), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { e.Close() })
	s := NewServer(Options{})
	s.Ready(e)
	for _, path := range []string{"start", "signal", "cancel", "carry", "list", "watch", "define", "defined", "push",
		"attended", "replay", "move", "fork", "token/add", "token/list", "token/remove", "care", "import"} {
		f.Add("POST", "/"+path, "{}")
		f.Add("POST", "/"+path, `{"run":"@last","kind":"answer","gate":"g","name":"n","queue":"q","value":1}`)
	}
	for _, path := range []string{"/hello", "/run?run=@last", "/blob?hash=0", "/export?run=@last"} {
		f.Add("GET", path, "")
	}
	local := identity{caller: runtime.Caller{Name: "local:ann", Local: true}}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		ctx = context.WithValue(ctx, identityKey{}, local)
		r, err := http.NewRequestWithContext(ctx, method, "http://socket/", strings.NewReader(body))
		if err != nil {
			t.Skip("no method")
		}
		if r.URL, err = r.URL.Parse(path); err != nil || strings.Contains(body, `"backup"`) || strings.Contains(r.URL.Path, "attach") {
			t.Skip("no path, or one that writes files or stays")
		}
		r.Header.Set(headerProtocol, "1")
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError && ctx.Err() == nil {
			t.Errorf("%s %s %q: %s", method, path, body, w.Body)
		}
	})
}
