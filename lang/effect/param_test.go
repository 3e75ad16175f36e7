package effect_test

import (
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// sample has one parameter of every shape.
var sample = &effect.Builtin{
	FullName: "shop.order",
	Params: []effect.Param{
		{Name: "item", Type: "string"},
		{Name: "count", Type: "int", Default: "1", Least: 1, Most: 9},
		{Name: "within", Type: "duration", Default: "None", KeywordOnly: true},
		{Name: "paper", Type: "string", Default: `"plain"`, OneOf: []string{"plain", "festive"}, KeywordOnly: true},
		{Name: "price", Type: "number", Default: "None", KeywordOnly: true},
		{Name: "then", Type: "callable", Default: "None", KeywordOnly: true},
		{Name: "gift", Type: "bool", Default: "False", KeywordOnly: true},
		{Name: "note", Type: "string|list", Default: "None", KeywordOnly: true},
		{Name: "otherwise", Default: "None", Nullable: true, KeywordOnly: true},
	},
	Result: "Order",
	Pure:   func(c *effect.Call) (starlark.Value, error) { return c.Get("item"), nil },
}

// rest collects everything.
var rest = &effect.Builtin{
	FullName: "say",
	Params: []effect.Param{
		{Name: "first", Type: "string"},
		{Name: "args", Variadic: true},
		{Name: "sep", Type: "string", Default: `" "`, KeywordOnly: true},
		{Name: "fields", Keywords: true},
	},
}

func kwargs(kv ...any) []effect.Keyword {
	var out []effect.Keyword
	for i := 0; i < len(kv); i += 2 {
		out = append(out, effect.Keyword{Name: kv[i].(string), Value: kv[i+1].(starlark.Value)})
	}
	return out
}

func TestBindErrors(t *testing.T) {
	x := starlark.String("x")
	one := starlark.MakeInt(1)
	for _, c := range []struct {
		builtin *effect.Builtin
		args    starlark.Tuple
		kwargs  []effect.Keyword
		want    string
	}{
		{sample, nil, nil, `shop.order: missing argument for item`},
		{sample, starlark.Tuple{starlark.None}, nil, `shop.order: for parameter item: got NoneType, want string`},
		{sample, starlark.Tuple{one}, nil, `shop.order: for parameter item: got int, want string`},
		{sample, starlark.Tuple{x, x}, nil, `shop.order: for parameter count: got string, want int`},
		{sample, starlark.Tuple{x, one, x}, nil, `shop.order: got 3 arguments, want at most 2; the signature is shop.order(item, count = 1, *, ` +
			`within = None, paper = "plain", price = None, then = None, gift = False, note = None, otherwise = None) -> Order`},
		{sample, starlark.Tuple{x}, kwargs("item", x), `shop.order: got multiple values for keyword argument "item"`},
		{sample, nil, kwargs("itemm", x), `shop.order: unexpected keyword argument "itemm" (did you mean item?)`},
		{sample, nil, kwargs("zzzzzz", x), `shop.order: unexpected keyword argument "zzzzzz"`},
		{sample, starlark.Tuple{x}, kwargs("paper", starlark.String("festiv")),
			`shop.order: for parameter paper: got "festiv", want one of plain, festive (did you mean "festive"?)`},
		{sample, starlark.Tuple{x}, kwargs("paper", starlark.String("brown")), `shop.order: for parameter paper: got "brown", want one of plain, festive`},
		{sample, starlark.Tuple{x}, kwargs("price", x), `shop.order: for parameter price: got string, want number`},
		{sample, starlark.Tuple{x}, kwargs("then", x), `shop.order: for parameter then: got string, want callable`},
		{sample, starlark.Tuple{x}, kwargs("gift", one), `shop.order: for parameter gift: got int, want bool`},
		{sample, starlark.Tuple{x}, kwargs("note", one), `shop.order: for parameter note: got int, want string or list`},
		{sample, starlark.Tuple{x}, kwargs("within", one), `shop.order: for parameter within: got int, want duration`},
		{rest, nil, nil, `say: missing argument for first`},
	} {
		_, err := c.builtin.Bind(c.args, c.kwargs)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// The reason is the contract language's own; here only that there is one, and where.
func TestBindRefusesWhatIsNoDuration(t *testing.T) {
	_, err := sample.Bind(starlark.Tuple{starlark.String("x")}, kwargs("within", starlark.String("soon")))
	const prefix = "shop.order: for parameter within: "
	if err == nil || len(err.Error()) <= len(prefix) || err.Error()[:len(prefix)] != prefix {
		t.Errorf("got %v, want %s…", err, prefix)
	}
}

func TestBoundArguments(t *testing.T) {
	c, err := sample.Bind(starlark.Tuple{starlark.String("tea")}, kwargs("within", starlark.String("90s"), "gift", starlark.True,
		"paper", starlark.None, "otherwise", starlark.None, "price", starlark.Float(2.5), "note", list()))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Text("item", ""); got != "tea" {
		t.Errorf("item: got %q", got)
	}
	if got := c.Text("paper", "plain"); got != "plain" || c.Get("paper") != nil {
		t.Errorf("paper: None counts as left out, got %q", got)
	}
	if c.Get("otherwise") != starlark.None {
		t.Errorf("otherwise: got %v, want None, which counts here", c.Get("otherwise"))
	}
	if got := c.Duration("within", 0); got != 90*time.Second {
		t.Errorf("within: got %v", got)
	}
	if !c.Flag("gift", false) || c.Get("count") != nil {
		t.Errorf("gift: got %v, count: got %v", c.Get("gift"), c.Get("count"))
	}
	if n, err := c.Count("count", 7); n != 7 || err != nil {
		t.Errorf("count: got %d, %v, want what the caller falls back on", n, err)
	}
}

func TestCountHasARange(t *testing.T) {
	c, err := sample.Bind(starlark.Tuple{starlark.String("tea"), starlark.MakeInt(12)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Count("count", 1)
	if want := "shop.order: for parameter count: got 12, want an int from 1 to 9"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if c, err = sample.Bind(starlark.Tuple{starlark.String("tea"), starlark.MakeInt(9)}, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Count("count", 1); n != 9 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestRestArguments(t *testing.T) {
	c, err := rest.Bind(starlark.Tuple{starlark.String("a"), starlark.MakeInt(1), starlark.None},
		kwargs("z", starlark.MakeInt(26), "sep", starlark.String("-"), "y", starlark.MakeInt(25)))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Get("args").String(); got != "(1, None)" {
		t.Errorf("args: got %s", got)
	}
	if got := c.Get("fields").String(); got != `{"z": 26, "y": 25}` {
		t.Errorf("fields: got %s", got)
	}
	if got := c.Text("sep", ""); got != "-" {
		t.Errorf("sep: got %s", got)
	}
}

func TestCallsFromGo(t *testing.T) {
	v, err := sample.CallInternal(new(starlark.Thread), starlark.Tuple{starlark.String("tea")}, nil)
	if err != nil || v != starlark.String("tea") {
		t.Errorf("got %v, %v", v, err)
	}
	waits := &effect.Builtin{FullName: "sleep", Class: effect.Waiting}
	_, err = waits.CallInternal(new(starlark.Thread), nil, nil)
	if want := "sleep cannot be called from inside a built-in function; call it from a def or a lambda"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSignature(t *testing.T) {
	for b, want := range map[*effect.Builtin]string{
		rest:              `say(first, *args, sep = " ", **fields)`,
		{FullName: "now"}: `now()`,
		sample:            `shop.order(item, count = 1, *, within = None, paper = "plain", price = None, then = None, gift = False, note = None, otherwise = None) -> Order`,
		{FullName: "a.b", Params: []effect.Param{{Name: "k", Default: "1", KeywordOnly: true}}}: `a.b(*, k = 1)`,
	} {
		if got := b.Signature(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
