package stdlib_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib"
)

// A file is bytes; what cannot be one says why, and that asking again would not help.
func TestPDF(t *testing.T) {
	env := stdlib.Environment(stdlib.Options{Fonts: []string{t.TempDir()}})
	for _, tt := range []struct {
		body string
		want string // in the error; "" for a file
	}{
		{"Häuser — дома", ""},
		{"漢", `pdf.make: no installed font has "漢" (U+6F22)`},
	} {
		args := starlark.NewDict(2)
		_ = args.SetKey(starlark.String("body"), starlark.String(tt.body))
		_ = args.SetKey(starlark.String("title"), starlark.String("t"))
		r := env.Handlers["pdf"].Perform(t.Context(), &effect.Attempt{Args: args})
		switch file, _ := r.Value.(starlark.Bytes); {
		case tt.want == "" && (r.Err != nil || !strings.HasPrefix(string(file), "%PDF-")):
			t.Errorf("%.10q: got %.20q, %v", tt.body, file, r.Err)
		case tt.want != "" && (r.Err == nil || r.Err.Kind != effect.KindRefused || !strings.Contains(r.Err.Error(), tt.want)):
			t.Errorf("%.10q: got the error %v, want %s", tt.body, r.Err, tt.want)
		}
	}
}
