package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

const (
	webhookTime = 15 * time.Second
	maxAnswer   = 4 << 10 // bytes of an answer that an error shows
)

// webhook is where a notice is sent to, with what its secrets hold.
type webhook struct {
	address *url.URL
	key     []byte           // that it is signed with; nil is not at all
	shown   *redact.Redactor // hides the secrets, and all of the address but a host that the project file shows
}

// open finds the secrets of a webhook. Errors show nothing of what they hold.
func open(ctx context.Context, a *effect.Attempt, n project.Notify) (w webhook, err error) {
	w.shown = new(redact.Redactor)
	text, err := secret.Fill(ctx, a, n.Webhook, w.shown)
	if err != nil {
		return w, err
	}
	if w.address, err = url.Parse(text); err != nil || !project.IsAddress(text) {
		return w, fmt.Errorf("with what its secrets hold, %s is no http or https address without user and password", n.Webhook)
	}
	w.hide(n.Webhook, text)
	if n.Secret == "" {
		return w, nil
	}
	value, err := secret.Reveal(ctx, a, n.Secret)
	if err != nil {
		return w, err
	}
	w.shown.Hide(n.Secret, value)
	if w.key, err = KeyOf(value); err != nil {
		err = fmt.Errorf("the secret %s: %w", n.Secret, err)
	}
	return w, err
}

// hide notes what of the address nobody is shown: all that the project file does not show either,
// part by part, for a receiver may repeat any; and its path and query in any case.
func (w *webhook) hide(written, text string) {
	u := w.address
	for _, whole := range []string{text, u.RequestURI(), u.Path, u.RawQuery} {
		w.shown.Hide("webhook", whole)
	}
	parts := append(strings.Split(u.Path, "/"), u.Host, u.Hostname())
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for _, part := range parts {
		if !strings.Contains(written, part) {
			w.shown.Hide("webhook", part)
		}
	}
}

// KeyOf is what a secret signs with, by the rules of Standard Webhooks. One that only looks like
// the standard's is refused: signed with its text nothing would be verified, and the receiver could
// not tell why.
func KeyOf(value string) ([]byte, error) {
	encoded, standard := strings.CutPrefix(value, "whsec_")
	if !standard {
		return []byte(value), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("it begins with whsec_ and is not base64 behind that; copy it whole from whoever receives the webhook")
	}
	return key, nil
}

// Sign is the signature of Standard Webhooks over a delivery; timestamp is in seconds since 1970.
func Sign(key []byte, id, timestamp, body string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send posts a notice once.
func send(ctx context.Context, client *http.Client, a *effect.Attempt, n project.Notify, body string) effect.Reply {
	w, err := open(ctx, a, n)
	if err != nil {
		return failed(effect.Retryable, "%v", err)
	}
	r, err := w.request(ctx, a.Key, body)
	if err != nil {
		return failed(effect.Retryable, "%s", w.shown.Redact(err.Error()))
	}
	resp, err := client.Do(r)
	if err != nil {
		var hidden *url.Error // it has the address
		if errors.As(err, &hidden) {
			err = hidden.Err
		}
		return failed(effect.Retryable, "%s", w.shown.Redact(fmt.Sprintf("the webhook at %s: %v", w.address.Host, err)))
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // what an error shows
	return judge(resp, w.shown.Cut(string(said)))
}

func (w webhook) request(ctx context.Context, id, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "starling")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	if w.key != nil {
		r.Header.Set("Webhook-Signature", Sign(w.key, id, at, body))
	}
	return r, nil
}

func judge(resp *http.Response, said string) effect.Reply {
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return effect.Reply{}
	case resp.StatusCode == http.StatusGone:
		return failed(effect.Final, "the webhook answers 410: it is gone")
	}
	reply := failed(effect.Retryable, "the webhook answers %d: %s", resp.StatusCode, strings.TrimSpace(strings.ToValidUTF8(said, "\uFFFD")))
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s < 1e6 {
		reply.After = time.Duration(s) * time.Second
	}
	return reply
}
