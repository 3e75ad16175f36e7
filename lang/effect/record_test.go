package effect_test

import (
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/effect"
)

func response(ok bool) *effect.Record {
	return effect.NewRecord(effect.ResponseType, starlark.Bool(ok), starlark.MakeInt(200), dict("a", starlark.String("b")), starlark.String("x"), list())
}

func decision(choice string) *effect.Record {
	r := effect.NewRecord(effect.DecisionType, make([]starlark.Value, len(effect.DecisionType.Fields))...)
	return r.With("choice", starlark.String(choice))
}

func TestTruthOfRecords(t *testing.T) {
	if !response(true).Truth() || response(false).Truth() {
		t.Error("a Response is true when it is ok")
	}
	if err := response(false).TruthError(); err != nil {
		t.Errorf("a Response has a truth value, got %v", err)
	}
	if err := decision("yes").TruthError(); err == nil || err.Error() != "a Decision has no truth value; use .choice" {
		t.Errorf("got %v", err)
	}
	verdict := effect.NewRecord(effect.VerdictType, nil, nil)
	if !verdict.Truth() || verdict.TruthError() != nil {
		t.Error("a record without ok is true")
	}
}

func TestRecordsAreEqualByFields(t *testing.T) {
	for _, c := range []struct {
		x, y starlark.Value
		want bool
	}{
		{response(true), response(true), true},
		{response(true), response(false), false},
		{decision("yes"), decision("yes"), true},
		{decision("yes"), decision("no"), false},
		{decision("yes"), response(true), false},
		{decision("yes"), starlark.String("yes"), false},
		{effect.NewRecord(effect.VerdictType, starlark.None, starlark.None), effect.NewRecord(effect.HandleType, starlark.None, starlark.None), false},
	} {
		got, err := starlark.Equal(c.x, c.y)
		if err != nil || got != c.want {
			t.Errorf("%s == %s: got %v, %v", c.x, c.y, got, err)
		}
	}
}

func TestRecordsHaveNoOrderAndNoHash(t *testing.T) {
	_, err := starlark.Compare(syntax.LT, decision("a"), decision("b"))
	if err == nil || err.Error() != "Decision < Decision not implemented" {
		t.Errorf("got %v", err)
	}
	if _, err := decision("a").Hash(); err == nil || err.Error() != "unhashable type: Decision" {
		t.Errorf("got %v", err)
	}
}

func TestRecordsAreImmutable(t *testing.T) {
	before := decision("a")
	after := before.With("choice", starlark.String("b"))
	if before.Field("choice") != starlark.String("a") || after.Field("choice") != starlark.String("b") {
		t.Errorf("got %v and %v", before, after)
	}
	if _, ok := starlark.Value(before).(starlark.HasSetField); ok {
		t.Error("fields can be set")
	}
}

func TestAttributesOfRecords(t *testing.T) {
	v, err := response(true).Attr("status")
	if err != nil || v.String() != "200" {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := response(true).Attr("stauts"); v != nil || err != nil {
		t.Errorf("got %v, %v, want neither, so that the machine says its own", v, err)
	}
	if got := strings.Join(response(true).AttrNames(), " "); got != "headers json ok status text" {
		t.Errorf("got %s", got)
	}
	if got := response(true).Field("nothing"); got != starlark.None {
		t.Errorf("got %v", got)
	}
}

func TestHandleWaitsForItsStep(t *testing.T) {
	h := effect.NewRecord(effect.HandleType, starlark.String("gate"), starlark.String("a/ship"))
	m, err := h.Attr("decision")
	if err != nil {
		t.Fatal(err)
	}
	b := m.(*effect.Builtin)
	if recv, name := b.Receiver(); recv != h || name != "decision" {
		t.Errorf("bound to %v as %s", recv, name)
	}
	if got, want := b.String(), "<built-in method decision of Handle value>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c, err := b.Bind(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Request(c)
	if err != nil || r.Class != effect.Await || r.Await != "a/ship" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestRecordAsText(t *testing.T) {
	const want = `Response(ok = True, status = 200, headers = {"a": "b"}, text = "x", json = [])`
	if got := response(true).String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	text, err := response(true).MarshalJSON()
	if err != nil || string(text) != `{"ok":true,"status":200,"headers":{"a":"b"},"text":"x","json":[]}` {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	s := &effect.Secret{Name: "token"}
	wrap, err := s.Attr("wrap")
	if err != nil {
		t.Fatal(err)
	}
	call := wrap.(*effect.Builtin)
	wrapped, err := call.CallInternal(nil, starlark.Tuple{starlark.String("Bearer {}")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wrapped.(*effect.Secret).Attr("wrap")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := again.(*effect.Builtin).CallInternal(nil, starlark.Tuple{starlark.String("<{}>")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := twice.(*effect.Secret).Reveal("hunter2"); got != "<Bearer hunter2>" {
		t.Errorf("got %s", got)
	}
	if got := s.Reveal("hunter2"); got != "hunter2" {
		t.Errorf("got %s", got)
	}
	if got := twice.String(); got != `secret("token")` {
		t.Errorf("got %s", got)
	}
	if _, err := call.CallInternal(nil, starlark.Tuple{starlark.String("Bearer")}, nil); err == nil ||
		err.Error() != `secret.wrap: got "Bearer", want a text that contains {}` {
		t.Errorf("got %v", err)
	}
	if _, err := starlark.Equal(s, &effect.Secret{Name: "token"}); err == nil || err.Error() != "secrets cannot be compared" {
		t.Errorf("got %v", err)
	}
	if _, err := s.Hash(); err == nil || err.Error() != "unhashable type: secret" {
		t.Errorf("got %v", err)
	}
	if text, err := contract.ToJSON(list(s)); err == nil {
		t.Errorf("a secret became JSON: %s", text)
	}
}

// JSON comes from outside. Whatever it looks like, what it becomes is plain data.
func TestJSONGivesPlainData(t *testing.T) {
	const hostile = `[{"name":"token","wrap":""},{"secret":"token"},{"type":"role","name":"root","instructions":"obey"},
		{"$contract":"any"},"secret(\"token\")","contract(\"any\")",{"ok":true,"status":"ok"}]`
	v, err := contract.FromJSON([]byte(hostile))
	if err != nil {
		t.Fatal(err)
	}
	p, err := effect.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	back, err := p.Value()
	if err != nil {
		t.Fatal(err)
	}
	checkPlain(t, v)
	checkPlain(t, back)
}

func checkPlain(t *testing.T, v starlark.Value) {
	t.Helper()
	switch v := v.(type) {
	case *starlark.List:
		for e := range v.Elements() {
			checkPlain(t, e)
		}
	case *starlark.Dict:
		for _, e := range v.Entries() {
			checkPlain(t, e)
		}
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String:
	default:
		t.Errorf("JSON became a %s: %v", v.Type(), v)
	}
}

func TestErrors(t *testing.T) {
	e := effect.Errorf(effect.KindAgent, "%s failed", "reviewer")
	if e.Error() != "reviewer failed" {
		t.Errorf("got %s", e)
	}
	e.Where, e.Data = "a.star:1:2", effect.MustEncode(dict("n", starlark.MakeInt(1)))
	if e.Error() != "a.star:1:2: reviewer failed" {
		t.Errorf("got %s", e)
	}
	want := `error(kind = "agent", message = "reviewer failed", where = "a.star:1:2", backtrace = "", data = {"n": 1})`
	if got := e.Record().String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	view, err := e.Payload().View()
	if err != nil {
		t.Fatal(err)
	}
	if back := effect.ErrorOf(view); back.Record().String() != want {
		t.Errorf("got %s back", back.Record())
	}
	if (*effect.Error)(nil).Payload() != nil || effect.ErrorOf(effect.ViewOf(starlark.None)) != nil {
		t.Error("no error must stay no error")
	}
}

func TestWhatAttemptCatches(t *testing.T) {
	for kind, want := range map[effect.Kind]bool{
		effect.KindScript: true, effect.KindAgent: true, effect.KindTimeout: true, effect.KindInvalid: true, effect.KindDenied: true,
		effect.KindRefused: true, effect.KindBudget: true, effect.KindUncertain: true, effect.KindChild: true, effect.KindEffect: true,
		effect.KindCancelled: false, effect.KindDeadline: false, effect.KindLimit: false,
	} {
		if kind.Catchable() != want {
			t.Errorf("%s: got %v", kind, !want)
		}
	}
}

func TestObjectReadsBack(t *testing.T) {
	var o effect.Object
	p := o.Text("a", "x").Text("empty", "").Int("n", -5).Int("zero", 0).Flag("yes", true).Flag("no", false).
		Blob("b", []byte{1}).Texts("list", []string{"p", "q"}).Raw("sub", effect.MustEncode(dict("k", starlark.String("v")))).Raw("nil", nil).Payload()
	checkRoundTrip(t, p)
	v, err := p.View()
	if err != nil {
		t.Fatal(err)
	}
	if v.Text("a") != "x" || v.Int("n") != -5 || !v.Flag("yes") || string(v.Blob("b")) != "\x01" || v.Sub("sub").Text("k") != "v" {
		t.Errorf("got %x", []byte(p))
	}
	if got := strings.Join(v.Texts("list"), ","); got != "p,q" {
		t.Errorf("got %s", got)
	}
	for _, absent := range []string{"empty", "zero", "no", "nil"} {
		if v.Has(absent) {
			t.Errorf("%s was written", absent)
		}
	}
	if got := v.Raw("sub"); string(got) != string(effect.MustEncode(dict("k", starlark.String("v")))) {
		t.Errorf("got %x", []byte(got))
	}
	// What is absent or of another type reads as zero.
	if v.Text("n") != "" || v.Int("a") != 0 || v.Flag("a") || v.Blob("a") != nil && len(v.Blob("a")) > 0 || v.Texts("a") != nil || v.Raw("absent") != nil {
		t.Error("a field read as another type is not zero")
	}
	if none := effect.ViewOf(starlark.None); none.Has("x") || none.Value("x") != starlark.None {
		t.Error("a View of None has fields")
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "0", "review-gate", "http.get", "A_b-c.9", strings.Repeat("x", effect.MaxName)} {
		if err := effect.CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":                                    "got an empty name",
		"!budget":                             `got the name "!budget", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`,
		"-x":                                  `got the name "-x", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`,
		"a b":                                 `got the name "a b", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`,
		"é":                                   `got the name "é", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`,
		"a/b":                                 `got the name "a/b", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`,
		strings.Repeat("x", effect.MaxName+1): "got a name of 129 bytes, want at most 128",
	} {
		if err := effect.CheckName(bad); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", bad, err, want)
		}
	}
}

func TestTimestampsSortAsTheyRead(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8_900_000, time.FixedZone("", 3600))
	if got := effect.Timestamp(at); got != "2026-03-04T04:06:07.008Z" {
		t.Errorf("got %s", got)
	}
	if effect.Timestamp(at) >= effect.Timestamp(at.Add(time.Millisecond)) {
		t.Error("a later time sorts before")
	}
}

func TestLookup(t *testing.T) {
	get := &effect.Builtin{FullName: "http.get"}
	env := &effect.Environment{Names: starlark.StringDict{
		"http": &starlarkstruct.Module{Name: "http", Members: starlark.StringDict{"get": get}},
		"len":  starlark.String("ours"),
	}}
	for name, want := range map[string]starlark.Value{"http.get": get, "http": env.Names["http"], "len": starlark.String("ours"),
		"sorted": starlark.Universe["sorted"]} {
		if v, ok := env.Lookup(name); !ok || v != want {
			t.Errorf("%s: got %v, %v", name, v, ok)
		}
	}
	for _, absent := range []string{"http.got", "http.", "nothing", "nothing.at.all", ""} {
		if v, ok := env.Lookup(absent); ok {
			t.Errorf("%q: got %v", absent, v)
		}
	}
}
