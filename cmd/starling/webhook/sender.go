package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"starling/stdlib/notify"
)

// tolerance is how old, or how far ahead, a signature with a time may be. It bounds for how long
// one that somebody has overheard can be sent again; what it would do is done once anyhow.
const tolerance = 5 * time.Minute

// errSignature is all that who signs wrongly is told.
var errSignature = errors.New("the signature is not that of its secret")

// A sender is a way to sign.
type sender struct {
	// verify tells whether a delivery is signed with a secret, now.
	verify func(secret string, h http.Header, body []byte, now time.Time) error
	// delivery is the sender's id of it, the same when it is sent again; event what it calls it.
	// Each is "" where the delivery does not have it. posted is the document.
	delivery, event func(h http.Header, posted any) string
	// challenge tells whether posted does nothing but ask whether somebody is there, and what it
	// wants to hear; nil where nobody does.
	challenge func(posted any) (string, bool)
	// secrets are fields of the document that are nobody's to keep.
	secrets []string
}

func (s sender) challenged(posted any) (string, bool) {
	if s.challenge == nil {
		return "", false
	}
	return s.challenge(posted)
}

// senders are those of project.Senders, as their documentation says.
func senders() map[string]sender {
	return map[string]sender{
		// docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
		"github": {verify: github, delivery: header("X-GitHub-Delivery"), event: header("X-GitHub-Event")},
		// docs.gitlab.com/user/project/integrations/webhooks: a secret that is sent along
		"gitlab": {verify: gitlab, delivery: header("Idempotency-Key", "X-Gitlab-Event-UUID"), event: header("X-Gitlab-Event")},
		// docs.slack.dev/authentication/verifying-requests-from-slack, and its Events API
		"slack": {verify: slack, delivery: field("event_id"), event: slackEvent, challenge: slackChallenge, secrets: []string{"token"}},
		// github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
		"standard": {verify: standard, delivery: header("Webhook-Id"), event: field("type")},
		// docs.stripe.com/webhooks#verify-manually
		"stripe": {verify: stripe, delivery: field("id"), event: field("type")},
	}
}

// header is the first of these headers that is there.
func header(names ...string) func(http.Header, any) string {
	return func(h http.Header, _ any) string {
		for _, name := range names {
			if v := h.Get(name); v != "" {
				return v
			}
		}
		return ""
	}
}

// field is a text of the document.
func field(name string) func(http.Header, any) string {
	return func(_ http.Header, posted any) string {
		object, _ := posted.(map[string]any)
		text, _ := object[name].(string)
		return text
	}
}

func github(secret string, h http.Header, body []byte, _ time.Time) error {
	digits, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	if got, err := hex.DecodeString(digits); !ok || err != nil || !hmac.Equal(got, mac([]byte(secret), body)) {
		return errSignature
	}
	return nil
}

func gitlab(secret string, h http.Header, _ []byte, _ time.Time) error {
	if subtle.ConstantTimeCompare([]byte(h.Get("X-Gitlab-Token")), []byte(secret)) != 1 {
		return errSignature
	}
	return nil
}

// slackSigned is what a signature of Slack begins with: its version.
const slackSigned = "v0="

func slack(secret string, h http.Header, body []byte, now time.Time) error {
	at := h.Get("X-Slack-Request-Timestamp")
	digits, ok := strings.CutPrefix(h.Get("X-Slack-Signature"), slackSigned)
	if got, err := hex.DecodeString(digits); !ok || err != nil || !hmac.Equal(got, mac([]byte(secret), []byte("v0:"+at+":"), body)) {
		return errSignature
	}
	return fresh(at, now)
}

// slackEvent is the type of the event that something is about, else that of the whole.
func slackEvent(h http.Header, posted any) string {
	object, _ := posted.(map[string]any)
	if inner := field("type")(h, object["event"]); inner != "" {
		return inner
	}
	return field("type")(h, posted)
}

func slackChallenge(posted any) (string, bool) {
	return field("challenge")(nil, posted), field("type")(nil, posted) == "url_verification"
}

func standard(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := notify.KeyOf(secret)
	if err != nil {
		return errSignature // nobody signs with it; who has not signed does not learn why
	}
	at := h.Get("Webhook-Timestamp")
	want := notify.Sign(key, h.Get("Webhook-Id"), at, string(body))
	for _, signature := range strings.Fields(h.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return fresh(at, now)
		}
	}
	return errSignature
}

func stripe(secret string, h http.Header, body []byte, now time.Time) error {
	var at string
	var signatures []string
	for part := range strings.SplitSeq(h.Get("Stripe-Signature"), ",") {
		switch key, value, _ := strings.Cut(strings.TrimSpace(part), "="); key {
		case "t":
			at = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	want := mac([]byte(secret), []byte(at+"."), body)
	for _, signature := range signatures {
		if got, err := hex.DecodeString(signature); err == nil && hmac.Equal(got, want) {
			return fresh(at, now)
		}
	}
	return errSignature
}

// fresh refuses a signature of another time; at is in seconds since 1970.
func fresh(at string, now time.Time) error {
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errors.New("the signature is of more than five minutes ago, or the clocks differ")
	}
	return nil
}

func mac(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}
