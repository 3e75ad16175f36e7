package process_test

import (
	"fmt"
	"testing"

	"starling/stdlib/process"
)

func TestEnvironment(t *testing.T) {
	inherited := []string{
		"HOME=/home/ada", "PATH=/bin", "PATH=/usr/bin", "LC_ALL=C.UTF-8", "no name", "=x",
		"GITHUB_TOKEN=ghp_1", "AWS_REGION=eu", "AWS_SECRET_ACCESS_KEY=s", "SSH_AUTH_SOCK=/tmp/agent",
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_OAUTH_TOKEN=t", "CODEX_SANDBOX=seatbelt", "STARLING_TOKEN=own",
	}
	for _, c := range []struct {
		declared, set []string
		want          []string
	}{
		{nil, nil, []string{"HOME=/home/ada", "LC_ALL=C.UTF-8", "PATH=/usr/bin"}},
		{[]string{"AWS_*", "MISSING"}, nil,
			[]string{"AWS_REGION=eu", "AWS_SECRET_ACCESS_KEY=s", "HOME=/home/ada", "LC_ALL=C.UTF-8", "PATH=/usr/bin"}},
		{[]string{"CLAUDE*", "CODEX_*"}, nil, []string{"HOME=/home/ada", "LC_ALL=C.UTF-8", "PATH=/usr/bin"}},
		{[]string{"CLAUDE_CODE_OAUTH_TOKEN"}, nil,
			[]string{"CLAUDE_CODE_OAUTH_TOKEN=t", "HOME=/home/ada", "LC_ALL=C.UTF-8", "PATH=/usr/bin"}},
		{nil, []string{"HOME=/tmp/jail", "EMPTY=", "STARLING_TOKEN=attempt"},
			[]string{"EMPTY=", "HOME=/tmp/jail", "LC_ALL=C.UTF-8", "PATH=/usr/bin", "STARLING_TOKEN=attempt"}},
	} {
		got := process.Environment(inherited, c.declared, c.set...)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("declared %v, set %v:\ngot  %v\nwant %v", c.declared, c.set, got, c.want)
		}
	}
}
