package query

import "testing"

// TestAddress: what people read names the same again, and what is an address already stays one.
func TestAddress(t *testing.T) {
	for _, address := range []string{
		"parallel/%E8%AA%9E/ok", "parallel/a%20b/look", "parallel/a%2Fb/look", "parallel/a%3Ab/c%23d", "look#2", "<3>", "!budget:budgets.tokens/2026-11-25",
		"!uncertain:parallel/%E8%AA%9E/look#2", "!deadline", "!needs:KEY", "parallel/%2B%28x%29/w", "child/parallel/0/ask",
	} {
		if got := Address(Name(address)); got != address {
			t.Errorf("%s is shown as %s, which names %s", address, Name(address), got)
		}
		if got := Address(address); got != address {
			t.Errorf("%s: got %s, want it as it is", address, got)
		}
	}
}

func TestName(t *testing.T) {
	for address, want := range map[string]string{
		"parallel/%E6%97%A5%E6%9C%AC/talk": "parallel/日本/talk",
		"parallel/a%20b/talk#2":            "parallel/a b/talk#2",
		"parallel/a%2Fb/talk":              "parallel/a%2Fb/talk", // a slash would be another branch
		"parallel/%1B%5B2J/talk":           "parallel/%1B%5B2J/talk",
		"parallel/%E2%80%AEa/talk":         "parallel/%E2%80%AEa/talk", // a mark of direction
		"parallel/%FF/talk":                "parallel/%FF/talk",
		"parallel/%2/%":                    "parallel/%2/%",
		"parallel/%25/x":                   "parallel/%25/x",
	} {
		if got := Name(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
