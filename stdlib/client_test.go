package stdlib_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib"
)

// perform makes a request with a call and performs one attempt of it, as the runtime does.
func perform(t *testing.T, ctx context.Context, call string) effect.Reply {
	t.Helper()
	d := newDesk()
	if _, err := d.eval(call); err != nil {
		t.Fatal(err)
	}
	args, err := d.asked[0].Args.Value()
	if err != nil {
		t.Fatal(err)
	}
	return d.env.Handlers["http"].Perform(ctx, &effect.Attempt{
		Kind: "http", Number: 1, Key: "run1/step1", Args: args,
		Env:      func(name string) (string, bool) { return map[string]string{"TOKEN": "hunter2"}[name], name == "TOKEN" },
		Settings: &secretSettings,
	})
}

// secretSettings are those of a project with a secret that stands in a variable.
var secretSettings = effect.Settings{ProjectFile: "starling.toml", Project: []byte("[secrets.TOKEN]\nenv = 'TOKEN'\n")}

// serve starts a server that ends with the test.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestResponses(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "")
		w.Header()["X-Two"] = []string{"1", "2"}
		w.Header().Set("Content-Type", "text/x")
		switch r.URL.Path {
		case "/json":
			fmt.Fprint(w, ` {"items": [1, 2.0]} `)
		case "/garbage":
			w.Write([]byte("{\xff"))
		case "/missing":
			w.WriteHeader(404)
			fmt.Fprint(w, "no")
		case "/empty":
			w.WriteHeader(204)
		case "/to":
			http.Redirect(w, r, "/json", http.StatusFound)
		}
	})
	for _, c := range []struct{ path, want string }{
		{"/json", `Response(ok = True, status = 200, headers = {"content-length": "21", "content-type": "text/x", "date": "", "x-two": "1, 2"}, ` +
			`text = " {\"items\": [1, 2.0]} ", json = {"items": [1, 2.0]})`},
		{"/garbage", `Response(ok = True, status = 200, headers = {"content-length": "2", "content-type": "text/x", "date": "", "x-two": "1, 2"}, ` +
			`text = "{\uFFFD", json = None)`},
		{"/missing", `Response(ok = False, status = 404, headers = {"content-length": "2", "content-type": "text/x", "date": "", "x-two": "1, 2"}, ` +
			`text = "no", json = None)`},
		{"/empty", `Response(ok = True, status = 204, headers = {"content-type": "text/x", "date": "", "x-two": "1, 2"}, text = "", json = None)`},
		{"/to", `Response(ok = True, status = 200, headers = {"content-length": "21", "content-type": "text/x", "date": "", "x-two": "1, 2"}, ` +
			`text = " {\"items\": [1, 2.0]} ", json = {"items": [1, 2.0]})`},
	} {
		r := perform(t, t.Context(), fmt.Sprintf("http.get(%q)", url+c.path))
		if r.Err != nil {
			t.Errorf("%s: %v", c.path, r.Err)
			continue
		}
		want := strings.ReplaceAll(c.want, `\uFFFD`, "\uFFFD")
		if got := r.Value.String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.path, got, want)
		}
	}
}

// A redirect that takes the body along is followed, one that drops it is the answer: what a page
// says to a GET is nothing that the receiver of a POST has said.
func TestRedirectsOfOtherMethods(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
		if status, err := strconv.Atoi(r.URL.Path[1:]); err == nil {
			http.Redirect(w, r, "/page", status)
		}
	})
	for _, c := range []struct {
		call, status string
		want         []string
	}{
		{`http.post("URL/301", body = "b")`, "301", []string{"POST /301 b"}},
		{`http.post("URL/302", body = "b")`, "302", []string{"POST /302 b"}},
		{`http.request("PUT", "URL/303", body = "b")`, "303", []string{"PUT /303 b"}},
		{`http.post("URL/307", body = "b")`, "200", []string{"POST /307 b", "POST /page b"}},
		{`http.post("URL/308", body = "b")`, "200", []string{"POST /308 b", "POST /page b"}},
		{`http.get("URL/303")`, "200", []string{"GET /303 ", "GET /page "}},
		{`http.request("HEAD", "URL/303")`, "200", []string{"HEAD /303 ", "HEAD /page "}},
	} {
		got = nil
		r := perform(t, t.Context(), strings.Replace(c.call, "URL", url, 1))
		if r.Err != nil || !strings.Contains(r.Value.String(), "status = "+c.status+",") || !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %v %v, having sent %q\nwant %s, %q", c.call, r.Value, r.Err, got, c.status, c.want)
		}
	}
}

// A redirect with 307 or 308 takes the body along: within its server, and to nobody else. What is
// only read is followed anywhere, and so is a body that goes on under TLS.
func TestRedirectsToOtherHosts(t *testing.T) {
	var got []string
	note := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s%s", r.Method, body, r.URL.Path))
	}
	elsewhere := serve(t, note)
	var to string
	here := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, "here")
		w.Header().Set("Location", to)
		w.WriteHeader(308)
	})
	refused := "POST URL/x: redirected to %s, another host, and nothing was sent there; name that address if it is meant"
	for _, c := range []struct{ call, to, err string }{
		{`http.post("URL/x", json = {"key": 1}, on_uncertain = "retry", idempotent = True)`, elsewhere + "/y?token=t#f", fmt.Sprintf(refused, elsewhere+"/y")},
		{`http.post("URL/x", body = "b")`, strings.Replace(elsewhere, "http://", "http://ann:pw@", 1), fmt.Sprintf(refused, elsewhere)},
		{`http.request("DELETE", "URL/x")`, elsewhere, fmt.Sprintf(strings.Replace(refused, "POST", "DELETE", 1), elsewhere)},
		{`http.get("URL/x")`, elsewhere + "/y", ""},
	} {
		got, to = nil, c.to
		r := perform(t, t.Context(), strings.Replace(c.call, "URL", here, 1))
		if c.err == "" {
			if r.Err != nil || !slices.Equal(got, []string{"here", "GET /y"}) {
				t.Errorf("%s: got %v, having sent %q", c.call, r.Err, got)
			}
			continue
		}
		if want := strings.Replace(c.err, "URL", here, 1); r.Err == nil || r.Err.Message != want || r.Err.Kind != effect.KindRefused || r.Class != effect.Final {
			t.Errorf("%s\ngot  %v of class %d\nwant %s", c.call, r.Err, r.Class, want)
		}
		if !slices.Equal(got, []string{"here"}) {
			t.Errorf("%s: it was sent on: %q", c.call, got)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	var got string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := r.Header
		got = fmt.Sprintf("%s %s key=%s type=%s auth=%s x=%s agent=%s body=%s", r.Method, r.URL, h.Get("Idempotency-Key"), h.Get("Content-Type"),
			h.Get("Authorization"), h.Get("X"), h.Get("User-Agent"), body)
	})
	for _, c := range []struct{ call, want string }{
		{`http.get("URL/a?b=c", headers = {"X": "y"})`, `GET /a?b=c key=run1/step1 type= auth= x=y agent=starling body=`},
		{`http.post("URL/", json = {"b": 1, "a": [None, b"x"]})`,
			`POST / key=run1/step1 type=application/json auth= x= agent=starling body={"b":1,"a":[null,"eA=="]}`},
		{`http.post("URL/", body = "é", headers = {"Idempotency-Key": "mine", "content-type": "text/html"})`,
			`POST / key=mine type=text/html auth= x= agent=starling body=é`},
		{`http.request("delete", "URL/", body = b"\x00", headers = {"Authorization": token})`,
			"DELETE / key=run1/step1 type=application/octet-stream auth=hunter2 x= agent=starling body=\x00"},
	} {
		if r := perform(t, t.Context(), strings.Replace(c.call, "URL", url, 1)); r.Err != nil {
			t.Errorf("%s: %v", c.call, r.Err)
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
}

// speak starts a server below HTTP: it reads the request's head and hands the connection over.
func speak(t *testing.T, fn func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				fn(conn)
			}
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestFailuresOfTheTransport(t *testing.T) {
	reset := speak(t, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) })
	half := speak(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") })
	garbage := speak(t, func(c net.Conn) { io.WriteString(c, "220 smtp.example.org\r\n") })
	silent := speak(t, func(net.Conn) {})
	closed := "http://" + refusedAddress(t)
	loop := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	})
	huge := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, effect.MaxPayload+1)) })
	double := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q", strings.Repeat("x", effect.MaxPayload/2))
	})

	for _, c := range []struct {
		name, url string
		want      string // URL stands for the URL
		class     effect.Failure
		post      effect.Failure // the class of the same failure of a POST
	}{
		{"a reset", reset, "read: connection reset by peer", effect.Retryable, effect.Final},
		{"half a response", half, "the connection ended before the response did", effect.Retryable, effect.Final},
		{"no response", silent, "the connection ended before the response did", effect.Retryable, effect.Final},
		{"another protocol", garbage, `malformed HTTP status code "smtp.example.org"`, effect.Retryable, effect.Final},
		{"nobody there", closed, "connect: connection refused", effect.Retryable, effect.Retryable},
		{"a loop", loop, "redirected more than 10 times", effect.Final, effect.Final},
		{"a huge body", huge, "the response with status 200 cannot be kept: the value is larger than 1048576 bytes", effect.Final, effect.Final},
		{"a body twice as large with its JSON", double, "the response with status 200 cannot be kept: the value is larger than 1048576 bytes",
			effect.Final, effect.Final},
	} {
		for method, class := range map[string]effect.Failure{"get": c.class, "post": c.post} {
			r := perform(t, t.Context(), fmt.Sprintf("http.%s(%q)", method, c.url))
			want := strings.ToUpper(method) + " " + c.url + ": " + c.want
			if r.Err == nil {
				t.Errorf("%s, %s: got %v", c.name, method, r.Value)
				continue
			}
			if r.Err.Kind != effect.KindEffect || r.Class != class || r.Err.Message != want {
				t.Errorf("%s, %s: got %s of class %d: %s\nwant of class %d: %s", c.name, method, r.Err.Kind, r.Class, r.Err, class, want)
			}
		}
	}
}

// Under TLS a body stays under TLS, and goes on to it.
func TestRedirectsInTheClear(t *testing.T) {
	next := map[string]string{"https://h/down": "http://h/x", "https://h/far": "https://h/down", "http://h/up": "https://h/x"}
	var got []string
	carry := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.URL.String())
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
		if to, ok := next[r.URL.String()]; ok {
			resp.StatusCode = 307
			resp.Header.Set("Location", to)
		}
		return resp, nil
	})
	for url, want := range map[string]string{
		"https://h/down":  "POST https://h/down: redirected to http://h/x, without TLS, and nothing was sent there; name that address if it is meant",
		"https://h/far":   "POST https://h/far: redirected to http://h/x, without TLS, and nothing was sent there; name that address if it is meant",
		"http://h/up":     "",
		"https://h/plain": "",
	} {
		got = nil
		d := &desk{env: stdlib.Environment(stdlib.Options{Transport: carry})}
		if _, err := d.eval(fmt.Sprintf("http.post(%q, body = 'b')", url)); err != nil {
			t.Fatal(err)
		}
		args, err := d.asked[0].Args.Value()
		if err != nil {
			t.Fatal(err)
		}
		r := d.env.Handlers["http"].Perform(t.Context(), &effect.Attempt{Kind: "http", Number: 1, Key: "k", Args: args, Settings: &effect.Settings{}})
		if said := ""; r.Err != nil {
			if said = r.Err.Message; said != want {
				t.Errorf("%s: got %s\nwant %s", url, said, want)
			}
		} else if want != "" {
			t.Errorf("%s: it was followed: %q", url, got)
		}
		if slices.Contains(got, "http://h/x") {
			t.Errorf("%s: the body went on in the clear: %q", url, got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func refusedAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestCancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	r := perform(t, ctx, fmt.Sprintf("http.get(%q)", url))
	if r.Err == nil || r.Err.Kind != effect.KindCancelled || r.Err.Message != "GET "+url+": cancelled" || r.Class != effect.Final {
		t.Errorf("got %v of class %d", r.Err, r.Class)
	}
}

// passing is a context whose deadline comes when somebody says so.
type passing struct {
	context.Context
	done chan struct{}
}

func (p passing) Done() <-chan struct{} { return p.done }

func (p passing) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A deadline is the caller's decision: it is final, whatever may be repeated.
func TestDeadline(t *testing.T) {
	for _, call := range []string{`http.get("URL")`, `http.post("URL")`} {
		ctx := passing{t.Context(), make(chan struct{})}
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			close(ctx.done)
			<-r.Context().Done()
		})
		r := perform(t, ctx, strings.Replace(call, "URL", url, 1))
		if r.Err == nil || r.Err.Kind != effect.KindTimeout || !strings.HasSuffix(r.Err.Message, url+": no response before the deadline") || r.Class != effect.Final {
			t.Errorf("%s: got %v of class %d", call, r.Err, r.Class)
		}
	}
}

// A failure in the middle is no reason to repeat what may have been acted on, unless its author
// says that this does no harm.
func TestWhatIsRepeated(t *testing.T) {
	url := speak(t, func(net.Conn) {})
	for call, class := range map[string]effect.Failure{
		`http.get("URL")`:                     effect.Retryable,
		`http.get("URL", idempotent = False)`: effect.Final,
		`http.request("head", "URL")`:         effect.Retryable,
		`http.post("URL")`:                    effect.Final,
		`http.post("URL", idempotent = True)`: effect.Retryable,
	} {
		r := perform(t, t.Context(), strings.Replace(call, "URL", url, 1))
		if r.Err == nil || r.Err.Kind != effect.KindEffect || r.Class != class {
			t.Errorf("%s: got %v of class %d, want class %d", call, r.Err, r.Class, class)
		}
	}
}

func TestSecretsOfRequests(t *testing.T) {
	seen := map[string]string{}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen["other"] = r.Header.Get("X-Key") + "," + r.Header.Get("X-Plain")
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.URL.Path] = r.Header.Get("X-Key")
		to := "/second"
		if r.URL.Path == "/second" {
			to = other
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
	r := perform(t, t.Context(), fmt.Sprintf(`http.get(%q, headers = {"X-Key": token, "X-Plain": "p"})`, url+"/first"))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if seen["/first"] != "hunter2" || seen["/second"] != "hunter2" {
		t.Errorf("the host it was meant for got %q", seen)
	}
	if seen["other"] != ",p" {
		t.Errorf("another host got %q", seen["other"])
	}
}

func TestSecretsWithoutValue(t *testing.T) {
	d := newDesk()
	if _, err := d.eval(`http.get("http://127.0.0.1:1/", headers = {"X-Key": token})`); err != nil {
		t.Fatal(err)
	}
	args, _ := d.asked[0].Args.Value()
	for value, want := range map[string]string{
		"":         "GET http://127.0.0.1:1/: the header X-Key: the secret TOKEN: the environment variable TOKEN has no value; set it and resume the run",
		"hun\nter": "GET http://127.0.0.1:1/: the secret TOKEN of the header X-Key is more than one line",
	} {
		r := d.env.Handlers["http"].Perform(t.Context(), &effect.Attempt{Args: args, Settings: &secretSettings,
			Env: func(string) (string, bool) { return value, value != "" }})
		if r.Err == nil || r.Err.Kind != effect.KindRefused || r.Err.Message != want {
			t.Errorf("got %v, want %s", r.Err, want)
		}
	}
}

// A response is a record that crosses like any other value.
func TestResponseCrosses(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"a": 1}`) })
	r := perform(t, t.Context(), fmt.Sprintf("http.get(%q)", url))
	p, err := effect.Encode(r.Value)
	if err != nil {
		t.Fatal(err)
	}
	back, err := p.Value()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := starlark.Equal(r.Value, back); err != nil || !same {
		t.Errorf("got %v, %v", back, err)
	}
}

// A request is refused before it is recorded as begun, for a secret that is not declared, and for
// any in a script of others.
func TestSecretsThatMayNotBeUsed(t *testing.T) {
	const project = "[secrets.TOKEN]\nenv = 'TOKEN'\n[grants.theirs]\nhosts = ['h']\n"
	for _, c := range []struct{ name, grant, project, want string }{
		{"TOKEN", "", project, "<nil>"},
		{"TOKEN", "theirs", project, "the script is not the project's own: it cannot use the secret TOKEN"},
		{"TOKE", "", project, `the secret TOKE is not declared in starling.toml; did you mean "TOKEN"?`},
		{"other", "", "", "the secret other is not declared in starling.toml; write [secrets.other] with env, file or command there"},
	} {
		d := newDesk()
		if _, err := d.eval(fmt.Sprintf(`http.get("http://h/", headers = {"X-Key": secrets.get(%q)})`, c.name)); err != nil {
			t.Fatal(err)
		}
		fault := d.env.Handlers["http"].Resolve(&effect.Settings{ProjectFile: "starling.toml", Project: []byte(c.project), Grant: c.grant}, d.asked[0])
		if got := fmt.Sprint(fault); got != c.want {
			t.Errorf("%s for %q: got %s, want %s", c.name, c.grant, got, c.want)
		}
	}
}
