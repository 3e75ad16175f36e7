package project_test

import (
	"strings"
	"testing"

	"starling/stdlib/project"
)

func TestNamed(t *testing.T) {
	f, err := project.Parse(project.Name, []byte(`
fake = "agents.star"
protected = ["lib/**"]
[git]
filters = ["lfs"]
[agents.a]
command = ["python3", "./judge.py", "--rules=conf/rules.yaml", "-v", "../out.py"]
[agents.b]
command = ["./b.sh", "/project/abs.py", "/elsewhere/x"]
[tools.t]
command = ["node", "server.js"]
[notify.n]
command = ["bin/../tell.sh"]
[secrets.s]
command = ["sh", "secret.sh"]
[secrets.f]
file = "keys/f"
[sh]
allow = ["go", "./test.sh"]
`))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(f.Named("/project"), " ")
	const want = "abs.py agents.star b.sh conf/rules.yaml judge.py keys/f secret.sh server.js tell.sh test.sh"
	if got != want || f.Filters[0] != "lfs" || f.Protected[0] != "lib/**" {
		t.Errorf("got  %s, %v, %v\nwant %s", got, f.Filters, f.Protected, want)
	}
}
