package project_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"starling/lang/diagnostic"
	"starling/stdlib/project"
)

func TestSetLeavesTheRestAsItIs(t *testing.T) {
	for _, c := range []struct{ name, text, path, value, want string }{
		{"a value in its place, with what is behind it", "[defaults]\n  timeout = \"5m\"  # long\nretries = 1\n", "defaults.timeout", `"9m"`,
			"[defaults]\n  timeout = \"9m\"  # long\nretries = 1\n"},
		{"a list over lines, with brackets and signs of comments in texts", "protected = [\n  \"a#]\",\n  'c # ] \"',\n]   # end\n[sh]\n", "protected", `["x"]`,
			"protected = [\"x\"]   # end\n[sh]\n"},
		{"a text over lines", "[agents.a]\ninstructions = \"\"\"\n# one\nkey = 2 ]\"\"\" # tail\nmodel = \"m\"\n", "agents.a.instructions", `"two"`,
			"[agents.a]\ninstructions = \"two\" # tail\nmodel = \"m\"\n"},
		{"behind the last key of its table, as that is indented", "[defaults]\n\tretries = 1 # r\n\n# about the next\n[sh]\n", "defaults.timeout", `"9m"`,
			"[defaults]\n\tretries = 1 # r\n\ttimeout = \"9m\"\n\n# about the next\n[sh]\n"},
		{"in an empty table", "[ sh ]   # none\n\n[defaults]\n", "sh.allow", `["go"]`, "[ sh ]   # none\nallow = [\"go\"]\n\n[defaults]\n"},
		{"in a table of its own", "fake = \"f\"", "sh.allow", `["go"]`, "fake = \"f\"\n\n[sh]\nallow = [\"go\"]\n"},
		{"in an empty file", "", "sh.allow", `[]`, "[sh]\nallow = []\n"},
		{"in front of the tables, behind the file's comment", "# ours\n# all\n\n# next\n[sh]\n", "fake", `"f"`, "# ours\n# all\n\nfake = \"f\"\n\n# next\n[sh]\n"},
		{"beside its like", "# ours\nfake = \"f\" # g\n[sh]\n", "protected", `[]`, "# ours\nfake = \"f\" # g\nprotected = []\n[sh]\n"},
		{"where keys have dots", "agents.a.model = \"m\"\nfake = \"f\"\n", "agents.a.limit", `2`, "agents.a.model = \"m\"\nagents.a.limit = 2\nfake = \"f\"\n"},
		{"under a header above", "[agents]\na.model = \"m\"\n", "agents.a.limit", `2`, "[agents]\na.model = \"m\"\na.limit = 2\n"},
		{"a name in quotes", "[prices]\n\"gpt-4.1\" = { input = 1, output = 2 }\n", "prices.\"gpt-4.1\"", `{}`, "[prices]\n\"gpt-4.1\" = {}\n"},
		{"a name that needs quotes", "[prices]\nx = 1\n", "prices.gpt-4.1", `2`, "[prices]\nx = 1\n\"gpt-4.1\" = 2\n"},
		{"lines as Windows ends them", "[defaults]\r\nretries = 1\r\n", "defaults.timeout", `"9m"`, "[defaults]\r\nretries = 1\r\ntimeout = \"9m\"\r\n"},
		{"at the end without a line feed", "[defaults]\nretries = 1", "defaults.retries", `2`, "[defaults]\nretries = 2"},
		{"a sign, and nothing around it", "[defaults]\nretries=+1#x", "defaults.retries", `2`, "[defaults]\nretries=2#x"},
	} {
		_, path, err := project.FindKey(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := project.Set([]byte(c.text), path, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	_, err := project.Set([]byte("[tools]\na = { command = [\"x\"] }\n"), []string{"tools", "a", "timeout"}, `"1m"`)
	if err == nil || !strings.Contains(err.Error(), "tools.a is written as one value, in line 2; change it there") {
		t.Errorf("got %v, want an inline table refused", err)
	}
	for _, text := range []string{"[sh]\nallow = [ # ]\n \"go\"]\n", "[sh]\nallow = [\n \"go\", # to build\n]\n", "[sh]\nallow = [[\"go\" # x\n]]\n"} {
		_, err = project.Set([]byte(text), []string{"sh", "allow"}, `["make"]`)
		if err == nil || !strings.Contains(err.Error(), "there are comments within the value of sh.allow, which begins in line 2, and they would be lost; change it there") {
			t.Errorf("%q: got %v, want comments kept", text, err)
		}
	}
}

// TestSetEveryKey gives each key of a file with all of them the value that it has: nothing changes
// but how that value is written, and every line is that of its key.
func TestSetEveryKey(t *testing.T) {
	settings, err := project.Settings([]byte(whole))
	if err != nil || len(settings) < 30 {
		t.Fatalf("got %d settings, %v", len(settings), err)
	}
	var want map[string]any
	if err := toml.Unmarshal([]byte(whole), &want); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(whole, "\n")
	for _, s := range settings {
		if last := s.Path[len(s.Path)-1]; !strings.Contains(lines[s.Line-1], last) {
			t.Errorf("%s stands in line %d: %s", project.Dotted(s.Path), s.Line, lines[s.Line-1])
		}
		value, err := toml.Marshal(map[string]any{"x": s.Value})
		if err != nil {
			t.Fatal(err)
		}
		text, err := project.Set([]byte(whole), s.Path, strings.TrimPrefix(strings.TrimSpace(string(value)), "x = "))
		if err != nil {
			if !strings.Contains(err.Error(), "written as one value") {
				t.Errorf("%s: %v", project.Dotted(s.Path), err)
			}
			continue
		}
		var got map[string]any
		if err := toml.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%s", project.Dotted(s.Path), err, text)
		}
	}
}

// TestKeysAreAll asks for an unknown key in each table that the page of keys has: what the refusal
// lists is what the page does.
func TestKeysAreAll(t *testing.T) {
	tables := map[string][]string{}
	for _, k := range project.Keys() {
		parts := strings.Split(k.Path, ".")
		tables[strings.Join(parts[:len(parts)-1], ".")] = append(tables[strings.Join(parts[:len(parts)-1], ".")], parts[len(parts)-1])
		if len(parts) > 1 {
			tables[""] = append(tables[""], parts[0])
		}
	}
	for table, has := range tables {
		header := "[" + strings.NewReplacer("NAME", "x", "SCRIPT", "x").Replace(table) + "]\n"
		if table == "" {
			header = ""
		}
		if table == "prices" || table == "inbox" { // every key is a name
			continue
		}
		_, err := project.Parse("starling.toml", []byte(header+"zzzzzzzz = 1\n"))
		if err == nil {
			t.Errorf("%s: an unknown key is taken", table)
			continue
		}
		_, listed, _ := strings.Cut(rendered(err), "the keys here are ")
		listed, _, _ = strings.Cut(listed, "\n")
		for want := range strings.SplitSeq(listed, ", ") {
			if want == "" || !slices.Contains(has, want) {
				t.Errorf("[%s] takes %q, which the page of keys does not have", table, want)
			}
		}
		for _, key := range has {
			if !slices.Contains(strings.Split(listed, ", "), key) {
				t.Errorf("the page of keys has %s.%s, which is not taken", table, key)
			}
		}
	}
}

func rendered(err error) string {
	var list diagnostic.List
	errors.As(err, &list)
	return list.Render()
}
