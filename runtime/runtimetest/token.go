package runtimetest

import (
	"strings"
	"testing"

	"starling/runtime"
)

// testTokens checks that an engine keeps the promises of runtime.Tokens.
func testTokens(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject, runtime.Tokens){
		"life":    testTokenLife,
		"refused": testTokenRefused,
		"denied":  testTokenDenied,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			test(e, extension[runtime.Tokens](e, e.Engine))
		})
	}
}

func (e *subject) tokenNames(t runtime.Tokens, q runtime.TokenQuery) string {
	e.Helper()
	list, err := t.ListTokens(e.ctx, q)
	e.ok(err)
	var names []string
	for _, token := range list {
		e.same("a secret that is listed", token.Secret, "")
		names = append(names, token.Name+"="+strings.Join(token.Can, ","))
	}
	return strings.Join(names, " ")
}

func testTokenLife(e *subject, t runtime.Tokens) {
	e.same("tokens of a new store", e.tokenNames(t, runtime.TokenQuery{}), "")
	a, err := t.AddToken(e.ctx, runtime.TokenRequest{Name: "ann", Can: []string{"signal", "read"}})
	e.ok(err)
	if a.Name != "ann" || a.By != e.user || a.At.IsZero() || len(a.Secret) < 32 {
		e.Errorf("got %+v, want a token of ann with its maker, time and secret", a)
	}
	b, err := t.AddToken(e.ctx, runtime.TokenRequest{Name: "bob_2", Can: []string{"all"}})
	e.ok(err)
	if a.Secret == b.Secret {
		e.Error("two tokens have one secret")
	}
	e.same("all", e.tokenNames(t, runtime.TokenQuery{}), "ann=read,signal bob_2=define,run,read,signal,cancel,act-as,override,admin,see-hidden")
	e.same("one", e.tokenNames(t, runtime.TokenQuery{Name: "ann"}), "ann=read,signal")
	gone, err := t.RemoveToken(e.ctx, "ann")
	e.ok(err)
	e.same("removed", gone.Name, "ann")
	e.same("the rest", e.tokenNames(t, runtime.TokenQuery{Name: "ann"}), "")
	again, err := t.AddToken(e.ctx, runtime.TokenRequest{Name: "ann", Can: []string{"read"}})
	e.ok(err)
	if again.Secret == a.Secret {
		e.Error("a token that was made anew has the secret of the one that was revoked")
	}
}

func testTokenRefused(e *subject, t runtime.Tokens) {
	_, err := t.AddToken(e.ctx, runtime.TokenRequest{Name: "ann", Can: []string{"read"}})
	e.ok(err)
	for _, r := range []runtime.TokenRequest{
		{Name: "ann", Can: []string{"all"}},
		{Name: "bob", Can: []string{"fly"}},
		{Name: "bob"},
		{Name: "b b", Can: []string{"read"}},
		{Name: "!x", Can: []string{"read"}},
		{Can: []string{"read"}},
	} {
		_, err := t.AddToken(e.ctx, r)
		e.refused(runtime.ErrUsage, err)
	}
	_, err = t.RemoveToken(e.ctx, "bob")
	e.refused(runtime.ErrUnknownToken, err)
	e.same("what is there after refusals", e.tokenNames(t, runtime.TokenQuery{}), "ann=read")
}

func testTokenDenied(e *subject, t runtime.Tokens) {
	run := e.start(hello)
	stranger := extension[runtime.Tokens](e, e.agent("helper", run.ID))
	_, err := stranger.AddToken(e.ctx, runtime.TokenRequest{Name: "ann", Can: []string{"all"}})
	e.refused(runtime.ErrDenied, err)
	_, err = stranger.ListTokens(e.ctx, runtime.TokenQuery{})
	e.refused(runtime.ErrDenied, err)
	_, err = stranger.RemoveToken(e.ctx, "ann")
	e.refused(runtime.ErrDenied, err)
}
