package secret_test

import (
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/stdlib/secret"
)

// In a reply, values are hidden of variables that are keys by their names, as people name them, or
// by their form; a path and a model are what was asked for.
func TestKeys(t *testing.T) {
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	for name, hidden := range map[string]bool{
		"API_KEY": true, "DB_PASS": true, "DB_PWD": true, "PW": true, "AK": true, "GPG_PASSPHRASE": true, "SESSION_COOKIE": true,
		"SLACK_WEBHOOK": true, "SENTRY_DSN": true, "SIGNING": true, "SALT": true, "PIN_CODE": true, "GITHUB_PAT": true, "OTHER": false,
		"DESIGN_DOC": false, "MODEL": false, "HOME": false, "SPIN": false, "PATTERN": false, "TASKS": false,
	} {
		a := &effect.Attempt{Env: func(string) (string, bool) { return "S3cure!Passw0rd#2026", true }}
		said := secret.Keys(a, []string{name}).Redact("it is S3cure!Passw0rd#2026 there")
		if strings.Contains(said, "S3cure") == hidden {
			t.Errorf("%s: hidden is %v, want %v: %s", name, !hidden, hidden, said)
		}
	}
	a := &effect.Attempt{Env: func(string) (string, bool) { return token, true }}
	if said := secret.Keys(a, []string{"OTHER"}).Redact(token); strings.Contains(said, token) {
		t.Errorf("a key by its form is shown: %s", said)
	}
}
