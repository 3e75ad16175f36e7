package lang_test

import (
	"fmt"

	"starling/lang"
	"starling/lang/check"
)

// A script is read once, with all that it needs, and judged without being run.
func ExampleCheck() {
	script := `load("lib/scoring.star", "keep_above")

def main(items):
    d = gate("review", promt = "Publish?", options = ["approve", "reject"])
    return keep_above(items) if d.choice == "approve" else []
`
	sources := files{"review.star": script, "lib/scoring.star": "def keep_above(items, threshold):\n    return items\n"}

	bundle, err := lang.Read("review.star", sources.read, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(lang.Check(bundle, environment(), check.Project{}).Render())
	// Output:
	// review.star:4:24: gate: unexpected keyword argument "promt"
	//   |     d = gate("review", promt = "Publish?", options = ["approve", "reject"])
	//   |                        ^^^^^
	//   = help: did you mean "prompt"?
	// review.star:5:12: keep_above: missing argument for threshold
	//   |     return keep_above(items) if d.choice == "approve" else []
	//   |            ^^^^^^^^^^
	//   = help: the signature is keep_above(items, threshold)
}

// What -i gives is checked against the script's own contract before there is a run.
func ExampleProgram_BindInputs() {
	script := `inputs = contract("{data_url: url, threshold: number(0..1) = 0.85}")
def main(data_url, threshold):
    return http.get(data_url).json
`
	bundle, err := lang.Read("review.star", files{"review.star": script}.read, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := lang.Compile(bundle, environment())
	if err != nil {
		fmt.Println(err)
		return
	}
	inputs, err := program.BindInputs(nil, []lang.Arg{{Name: "data_url", Text: "https://example.org/data.json"}})
	fmt.Println(inputs, err)

	_, err = program.BindInputs(nil, []lang.Arg{{Name: "treshold", Text: "high"}})
	fmt.Println(err)
	// Output:
	// {"data_url": "https://example.org/data.json", "threshold": 0.85} <nil>
	// data_url: got nothing, want url
	// treshold: got an unknown key, want only data_url, threshold; did you mean "threshold"?
}
