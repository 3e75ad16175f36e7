package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// noon is when the deliveries of these tests are signed.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// deliveries are signed by others: the example of GitHub's documentation, the library of Standard
// Webhooks, the example of GitLab's, and what Stripe's library for Node makes of this body.
func deliveries(t *testing.T) map[string]signed {
	t.Helper()
	const body = `{"id":"evt_1","type":"invoice.paid"}`
	wh, err := standardwebhooks.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	signature, err := wh.Sign("msg_1", noon, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprint(noon.Unix())
	return map[string]signed{
		"github": {secret: "It's a Secret to Everybody", body: "Hello, World!", id: "72d3162e", event: "issues", header: map[string]string{
			"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
			"X-GitHub-Event":      "issues", "X-GitHub-Delivery": "72d3162e"}},
		"gitlab": {secret: "s3cret", body: body, id: "13792a34", event: "Push Hook", header: map[string]string{
			"X-Gitlab-Token": "s3cret", "X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "13792a34"}},
		"standard": {secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: body, id: "msg_1", event: "invoice.paid", timed: true, header: map[string]string{
			"Webhook-Id": "msg_1", "Webhook-Timestamp": at, "Webhook-Signature": "v1,AAAA v2,x " + signature}},
		"slack": {secret: "8f742231b10e8888abcd99yyyzzz85a5", body: slackBody, id: "Ev1", event: "app_mention", timed: true, header: map[string]string{
			"X-Slack-Request-Timestamp": at, "X-Slack-Signature": "v0=" + slackSignature}},
		"stripe": {secret: "whsec_test", body: body, id: "evt_1", event: "invoice.paid", timed: true, header: map[string]string{
			"Stripe-Signature": "t=" + at + ",v0=00,v1=" + stripeSignature}},
	}
}

// stripeSignature is what stripe.webhooks.generateTestHeaderString of the package stripe 23.1.0
// (npm) gives for the body above at noon.
const stripeSignature = "40cce3b6b73518a4dbde4915ab4577763098d69d95b7a3fecd4939bbafb59bad"

// slackSignature is what openssl dgst -sha256 -hmac makes of "v0:", noon, ":" and the body with the
// secret of Slack's documentation.
const (
	slackBody      = `{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}`
	slackSignature = "c4e75437733a374f00db1983d3df0ffa20d0026b927350fd3cb9293c043a3f70"
)

type signed struct {
	secret, body, id, event string
	timed                   bool
	header                  map[string]string
}

func (s signed) headers() http.Header {
	h := http.Header{}
	for k, v := range s.header {
		h.Set(k, v)
	}
	return h
}

// TestSenders: what is signed is taken, with its id and its event; anything else about it is not.
func TestSenders(t *testing.T) {
	for name, s := range deliveries(t) {
		from := senders()[name]
		posted, err := document("application/json", []byte(s.body))
		if name != "github" && err != nil { // the body of its example is no JSON
			t.Fatal(err)
		}
		h := s.headers()
		if err := from.verify(s.secret, h, []byte(s.body), noon.Add(4*time.Minute)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if id, event := from.delivery(h, posted), from.event(h, posted); id != s.id || event != s.event {
			t.Errorf("%s: got the delivery %q and the event %q, want %q and %q", name, id, event, s.id, s.event)
		}
		if err := from.verify(s.secret, h, []byte(s.body), noon.Add(6*time.Minute)); (err != nil) != s.timed {
			t.Errorf("%s: six minutes later: %v", name, err)
		}
		if from.verify(s.secret+"x", h, []byte(s.body), noon) == nil {
			t.Errorf("%s: takes what is signed with another secret", name)
		}
		if name != "gitlab" && from.verify(s.secret, h, []byte(s.body+" "), noon) == nil {
			t.Errorf("%s: takes another body", name)
		}
		if from.verify(s.secret, http.Header{}, []byte(s.body), noon) == nil {
			t.Errorf("%s: takes what is not signed", name)
		}
		for header, value := range s.header {
			if !strings.Contains(strings.ToLower(header), "signature") && !strings.Contains(header, "Token") {
				continue
			}
			for i := range value {
				if h := s.headers(); s.forged(h, header, value, i) && from.verify(s.secret, h, []byte(s.body), noon) == nil {
					t.Errorf("%s: takes the signature %q", name, h.Get(header))
				}
			}
		}
	}
}

// TestEmptyKeys: a secret that is empty behind its mark is no key that anybody could sign with.
func TestEmptyKeys(t *testing.T) {
	s := deliveries(t)["standard"]
	m := hmac.New(sha256.New, nil)
	m.Write([]byte("msg_1." + s.header["Webhook-Timestamp"] + "." + s.body))
	h := s.headers()
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	if senders()["standard"].verify("whsec_", h, []byte(s.body), noon) == nil {
		t.Error("takes what is signed with nothing")
	}
}

// forged changes a character of what is signed; false where it stands for nothing.
func (s signed) forged(h http.Header, header, value string, i int) bool {
	other := byte('f')
	if value[i] == other {
		other = '0'
	}
	h.Set(header, value[:i]+string(other)+value[i+1:])
	begins := strings.LastIndexAny(value, "=, ") // of the signature, behind those of other schemes
	if strings.HasSuffix(value, "=") {
		begins = strings.LastIndex(value, "v1,")
	}
	return i > begins+3 && value[i] != '='
}
