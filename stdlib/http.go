package stdlib

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

const (
	httpTimeout = 30 * time.Second // of one attempt, unless said otherwise
	httpRetries = 1                // of a request that may be repeated, unless said otherwise
)

// httpModule has get, post and request. They differ in the method alone.
func httpModule() []*effect.Builtin {
	method := effect.Param{Name: "method", Type: "string", Doc: "The method, such as \"PUT\"."}
	body := []effect.Param{
		{Name: "json", Default: "None", KeywordOnly: true, Doc: "The body as a value, sent as JSON."},
		{Name: "body", Type: "string|bytes", Default: "None", KeywordOnly: true, Doc: "The body as it is."},
	}
	return []*effect.Builtin{
		httpBuiltin("get", "GET", "Fetch a URL.", nil, nil),
		httpBuiltin("post", "POST", "Post to a URL.", nil, body),
		httpBuiltin("request", "", "Send a request of any method.", []effect.Param{method}, body),
	}
}

// httpBuiltin never raises for a status: a 404 is an answer, and often the one that was asked for.
// What did not arrive is not.
func httpBuiltin(name, method, doc string, before, body []effect.Param) *effect.Builtin {
	params := append(before, effect.Param{Name: "url", Type: "string", Doc: "An absolute URL, http or https."})
	params = append(append(params, body...), httpKeywords(method)...)
	return &effect.Builtin{
		FullName: "http." + name,
		Doc: doc + " Every status gives a Response, which is true when the status is 200 to 299; only a failure of the transport and the deadline " +
			"raise. Redirects are followed, but for one that would make a GET of another method, which is the Response, and one that would " +
			"send a body to another host, or without TLS, which is refused. " +
			"The step's idempotency key is sent as Idempotency-Key.",
		Params:  params,
		Result:  "Response",
		Class:   effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) { return httpRequest(c, method) },
	}
}

// httpKeywords differ by the method in one thing: a GET that was cut is made again, about all else
// people are asked.
func httpKeywords(method string) []effect.Param {
	uncertain := `"ask"`
	if method == "GET" {
		uncertain = `"retry"`
	}
	return []effect.Param{
		{Name: "headers", Type: "dict", Default: "{}", KeywordOnly: true, Doc: "Names and values; a value may be a secret."},
		timeoutParam("Of one attempt, \"30s\" by default."),
		{Name: "retries", Type: "int", Most: maxFurther, Default: "None", KeywordOnly: true,
			Doc: "Further attempts after a failure of the transport; 1 by default where a repetition does no harm, else 0."},
		onUncertainParam(uncertain),
		{Name: "idempotent", Type: "bool", Default: "None", KeywordOnly: true,
			Doc: "That a repetition does no harm: true of GET and HEAD, and of what else honours the idempotency key."},
		nameParam("the function's name"),
	}
}

func httpRequest(c *effect.Call, method string) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	if method == "" {
		method = strings.ToUpper(c.Text("method", ""))
	}
	for _, err := range []error{checkMethod(c, method), checkURL(c), checkHeaders(c), checkBody(c), positive(c, "timeout")} {
		if err != nil {
			return nil, err
		}
	}
	policy, err := httpPolicy(c, method)
	if err != nil {
		return nil, err
	}
	args, err := httpArguments(c, method, policy.Idempotent)
	if err != nil {
		return nil, err
	}
	return &effect.Request{Class: effect.Waiting, Kind: "http", Name: name, Args: args, Policy: policy}, nil
}

func httpArguments(c *effect.Call, method string, idempotent bool) (effect.Payload, error) {
	fields := []string{"url", "headers"}
	if c.Builtin.FullName != "http.get" {
		fields = append(fields, "json", "body")
	}
	args, err := arguments(c, fields...)
	if err != nil {
		return nil, err
	}
	view, err := args.View()
	if err != nil {
		return nil, err
	}
	var o effect.Object
	o.Text("method", method)
	for _, f := range fields {
		o.Raw(f, view.Raw(f))
	}
	return o.Flag("idempotent", idempotent).Payload(), nil
}

// httpPolicy: what may be repeated is retried and goes on after a crash; anything else asks.
func httpPolicy(c *effect.Call, method string) (effect.Policy, error) {
	p := effect.Policy{Timeout: c.Duration("timeout", httpTimeout), OnUncertain: effect.Ask}
	p.Idempotent = c.Flag("idempotent", method == "GET" || method == "HEAD")
	retries := 0
	if p.Idempotent {
		p.OnUncertain = effect.Retry
		retries = httpRetries
	}
	p.OnUncertain = onUncertain(c, p.OnUncertain)
	var err error
	p.Retries, err = c.Count("retries", retries)
	return p, err
}

func checkMethod(c *effect.Call, method string) error {
	if !isToken(method) {
		return wrong(c, "method", "got %q, want the name of a method, such as \"PUT\"", method)
	}
	return nil
}

func checkURL(c *effect.Call) error {
	text := c.Text("url", "")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return wrong(c, "url", "got %q, want a URL that begins with http:// or https:// and a host", text)
	}
	if u.User != nil {
		return wrong(c, "url", "it holds a user name or password, which would be recorded; send them as a header")
	}
	return nil
}

func checkHeaders(c *effect.Call) error {
	headers, ok := c.Get("headers").(*starlark.Dict)
	if !ok {
		return nil
	}
	for k, v := range headers.Entries() {
		name, ok := starlark.AsString(k)
		if !ok || !isToken(name) {
			return wrong(c, "headers", "got the name %s, want letters, digits and '-'", k)
		}
		if _, secret := v.(*effect.Secret); secret {
			continue
		}
		text, ok := starlark.AsString(v)
		if !ok {
			return wrong(c, "headers", "%s: got %s, want string or secret", name, v.Type())
		}
		if strings.ContainsAny(text, "\r\n\x00") {
			return wrong(c, "headers", "%s: a value is one line", name)
		}
	}
	return nil
}

func checkBody(c *effect.Call) error {
	if c.Builtin.FullName == "http.get" {
		return nil
	}
	v := c.Get("json")
	if v == nil {
		return nil
	}
	if c.Get("body") != nil {
		return fmt.Errorf("%s: got both json and body, want one of them", c.Builtin.FullName)
	}
	if _, err := contract.ToJSON(v); err != nil {
		return wrong(c, "json", "%w", err)
	}
	return nil
}

// isToken tells whether s is a token of RFC 9110: what names methods and headers.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
