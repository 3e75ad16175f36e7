package effect_test

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// What crosses is copied, and what cannot cross is named by its path.
func ExampleEncode() {
	items := starlark.NewList([]starlark.Value{starlark.MakeInt(300), starlark.String("é")})
	payload, err := effect.Encode(items)
	fmt.Printf("% x %v\n", []byte(payload), err)

	copied, _ := payload.Value()
	items.Append(starlark.Universe["len"])
	_, err = effect.Encode(items)
	fmt.Println(copied, err)
	// Output:
	// 08 02 03 d8 04 06 02 c3 a9 <nil>
	// [300, "é"] [2]: a builtin_function_or_method cannot leave the script
}

// A builtin is data: what it is called, what it takes, and what a call of it asks for.
func ExampleBuiltin() {
	sleep := &effect.Builtin{
		FullName: "sleep",
		Doc:      "Suspend for a while.",
		Params:   []effect.Param{{Name: "duration", Type: "duration", Doc: "How long."}},
		Result:   "None",
		Class:    effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			args := new(effect.Object).Text("duration", c.Text("duration", "")).Payload()
			return &effect.Request{Class: effect.Waiting, Kind: "sleep", Name: "sleep", Args: args}, nil
		},
	}
	fmt.Println(sleep.Signature())
	_, err := sleep.Bind(starlark.Tuple{starlark.MakeInt(5)}, nil)
	fmt.Println(err)
	// Output:
	// sleep(duration) -> None
	// sleep: for parameter duration: got int, want duration
}
