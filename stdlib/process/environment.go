package process

import (
	"slices"
	"strings"
)

// Environment builds the exact environment of a child, sorted by name, each name once.
//
//   - From inherited ("NAME=value", such as os.Environ) it takes what every program needs to run on this machine: see ordinary.
//   - It takes those that declared names, exactly or as a prefix with a star ("AWS_*"). Nothing else is inherited: a key that is
//     in the owner's environment reaches an agent only because somebody wrote its name down.
//   - set ("NAME=value") is added as it is, and wins.
//
// A variable by which a coding agent marks its own session (see sessionMarks) passes no star, only
// its exact name: an agent started below such a session would refuse to run, or take itself for
// part of that session.
func Environment(inherited, declared []string, set ...string) []string {
	chosen := map[string]string{}
	for _, entry := range inherited {
		name, value, found := strings.Cut(entry, "=")
		if found && name != "" && admitted(name, declared) {
			chosen[name] = value
		}
	}
	for _, entry := range set {
		name, value, _ := strings.Cut(entry, "=")
		chosen[name] = value
	}
	env := make([]string, 0, len(chosen))
	for name, value := range chosen {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func admitted(name string, declared []string) bool {
	if slices.Contains(declared, name) {
		return true
	}
	if matches(name, sessionMarks()) {
		return false
	}
	return matches(name, ordinary()) || matches(name, declared)
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, star := strings.CutSuffix(pattern, "*")
		return name == pattern || star && strings.HasPrefix(name, prefix)
	})
}

// ordinary lists what a program needs to find its files, speak the user's language, and get through
// a proxy to hosts that it can verify. What it lacks by intent are the keys to other things:
// SSH_AUTH_SOCK, DBUS_SESSION_BUS_ADDRESS, DISPLAY, tokens.
func ordinary() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "TZ", "LANG", "LANGUAGE", "LC_*",
		"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	}
}

// sessionMarks lists what agents set for the processes below them. With CLAUDECODE in its
// environment claude refuses to start; the others change how a program behaves (a sandbox believed
// to be there, output meant for an agent). Some configuration of Claude Code has the same prefix,
// CLAUDE_CODE_USE_BEDROCK and CLAUDE_CODE_OAUTH_TOKEN among it: declare these by name.
func sessionMarks() []string {
	return []string{
		"CLAUDECODE", "CLAUDE_CODE_*",
		"CODEX_SANDBOX", "CODEX_SANDBOX_*", "CODEX_THREAD_ID",
		"GEMINI_CLI", "CURSOR_AGENT", "CURSOR_TRACE_ID", "OPENCODE", "AI_AGENT",
	}
}
