package stdlib_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/stdlib"
)

// The table of requests in doc.go is what the runtime is written against: each kind of request is
// in it, with the arguments that a call can have.
func TestTableOfRequests(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "// Durations are text")
	rows := map[string]string{}
	kind := ""
	for _, line := range strings.Split(table, "\n") {
		line, inTable := strings.CutPrefix(line, "//\t")
		if !inTable {
			continue
		}
		if line[0] != ' ' {
			kind, _, _ = strings.Cut(line, " ")
		}
		rows[kind] += line + " "
	}
	for _, call := range []string{
		`agent("a", "t", input = 1, context = 1, output = contract("any"), files = ["a"], backend = "b", timeout = "1s", retries = 1, reasks = 1)`,
		`handoff("a", 1, task = "t", sender = "s", accepts = contract("any"), returns = contract("any"), context = {}, cycle = 1, files = ["a"], backend = "b",
			timeout = "1s", retries = 1, reasks = 1)`,
		`gate("g", prompt = "p", options = ["a"], target = "t", data = 1, schema = contract("any"), timeout = "1s", fallback = "a", on_timeout = "fail",
			escalate = [("t", "1s")], quorum = 1, editable = True)`,
		`run("a.star", {}, name = "n", timeout = "1s")`, `sleep("1s")`, `mailbox.take("m", timeout = "1s")`,
		`http.post("http://h/", headers = {}, json = 1, idempotent = True)`, `http.post("http://h/", body = "b")`,
		`fs.read("a", binary = True)`, `fs.write("a", "b")`, `fs.remove("a", recursive = True)`, `fs.glob("*")`,
		`artifact("a.md", "b")`, `pdf.make("b", title = "t")`,
		`context.pack(["a"], queries = ["b"], budget = 9)`, `context.trim({}, budget = 9, history = 1)`,
		`sh.run(["ls"], dir = "a", env = {}, stdin = "")`,
		`measure.tests(["go"], "go", reports = ["a"], dir = "a", env = {})`, `measure.scan(["a"])`, `measure.code(["a"])`,
		`workspace.checkpoint()`, `workspace.rollback("0123456789abcdef01234567")`, `workspace.commit("m", paths = ["a"], since = "0123456789abcdef01234567")`,
		`journal.steps(of = "s")`, `journal.events(types = ["t"])`,
		`project.find(agents = ["a"], workflows = ["w"])`,
		`memory.vars.get("k", 1)`, `memory.vars.set("k", 1)`, `memory.chat.add("t", by = "a", chat = "c")`, `memory.chat.keep(2)`,
		`memory.project.get("k", 1)`, `memory.project.set("k", 1)`,
		`queue.push("q", 1)`, `queue.take("q", wait = True, timeout = "1s", lease = "1m")`,
		`schedule.set("s", "n", cron = "@daily", zone = "UTC", jitter = "1m", labels = {}, time_input = "t", overlap = "skip", catch_up = "all")`,
		`schedule.set("s", "n", every = "1h", inputs = {})`, `schedule.backfill("s", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")`, `schedule.pause("s", "r")`,
		`now()`, `uuid()`, `random()`, `print("a")`, `emit("k", a = 1)`, `log.info("m", a = 1)`,
	} {
		d := newDesk()
		if _, err := d.eval(call); err != nil {
			t.Fatal(err)
		}
		r := d.asked[0]
		row, ok := rows[r.Kind]
		if !ok {
			t.Errorf("the table has no row for %s", r.Kind)
		}
		args, err := r.Args.Value()
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fieldsOf(args.String()) {
			if !strings.Contains(row, " "+field) {
				t.Errorf("the row of %s does not name %s: %s", r.Kind, field, row)
			}
		}
	}
}

// fieldsOf are the keys of a dict whose values hold no dict with keys.
func fieldsOf(dict string) []string {
	var names []string
	for part := range strings.SplitSeq(strings.Trim(dict, "{}"), ", \"") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(part, `"`), `": `); ok {
			names = append(names, name)
		}
	}
	return names
}

func ExampleEnvironment() {
	env := stdlib.Environment(stdlib.Options{})
	for _, name := range []string{"sleep", "http.get", "stop"} {
		v, _ := env.Lookup(name)
		b := v.(*effect.Builtin)
		fmt.Printf("%s: %s\n", b.Class, b.Signature())
	}
	// Output:
	// request: sleep(duration, *, name = None) -> None
	// request: http.get(url, *, headers = {}, timeout = None, retries = None, on_uncertain = "retry", idempotent = None, name = None) -> Response
	// pure: stop(reason = "") -> Verdict
}
