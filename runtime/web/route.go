package web

import (
	"cmp"
	"net/http"
	"strings"

	"starling/lang/diagnostic"
	"starling/runtime"
)

// routes is a mux that can say what it serves, to whoever asks for something else.
type routes struct {
	mux   *http.ServeMux
	lines []string // "POST /v1/run", in the order in which they were added
	paths []string // the same without the method
}

func newRoutes() *routes {
	r := &routes{mux: http.NewServeMux()}
	r.mux.HandleFunc("/", r.nothing)
	return r
}

// add serves one method of a path; any other is refused with 405. A path has one method.
func (r *routes) add(method, path string, h http.Handler) {
	r.mux.Handle(method+" "+path, h)
	r.mux.HandleFunc(path, func(w http.ResponseWriter, asked *http.Request) { wrongMethod(w, asked, method) })
	r.know(method+" "+path, path)
}

// mount leaves a path to a handler that knows its methods by itself.
func (r *routes) mount(path string, h http.Handler) {
	r.mux.Handle(path, h)
	r.know(path, path)
}

func (r *routes) know(line, path string) {
	r.lines, r.paths = append(r.lines, line), append(r.paths, path)
}

// seeDocument is the hint where no better one is known.
const seeDocument = "GET /openapi.json says what each takes"

func wrongMethod(w http.ResponseWriter, asked *http.Request, want string) {
	allow := want
	if want == http.MethodGet {
		allow += ", " + http.MethodHead // the mux serves it with GET
	}
	w.Header().Set("Allow", allow)
	write(w, http.StatusMethodNotAllowed, refusalBody{runtime.Refuse(runtime.ErrUsage, seeDocument, "%s: got the method %s, want %s", asked.URL.Path, asked.Method, want)})
}

func (r *routes) nothing(w http.ResponseWriter, asked *http.Request) {
	help := cmp.Or(diagnostic.DidYouMean(asked.URL.Path, r.paths), seeDocument)
	write(w, http.StatusNotFound, refusalBody{runtime.Refuse(runtime.ErrUsage, help, "there is no %s, want one of %s", asked.URL.Path, strings.Join(r.lines, ", "))})
}
