package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was refused is listed, the newest first, also by another process; strangers who knock a
// thousand times are one entry, and push out nothing. What others have chosen stays on one line.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	r := NewRefusals(func() string { return dir })
	add := func(one Refused, unsigned bool) {
		t.Helper()
		if err := r.Add(one, unsigned); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := r.List(); err != nil || len(list) != 0 {
		t.Errorf("at first: %v, %v", list, err)
	}
	add(Refused{Webhook: "issues", At: noon, Kind: "bad_payload", Reason: "no\x1b[2J\nJSON" + strings.Repeat("x", 1<<20), Delivery: "d1", Event: "issues"}, false)
	for i := range 1000 {
		add(Refused{Webhook: "issues", At: noon.Add(time.Duration(i) * time.Second), Kind: "denied", Reason: "not signed", Delivery: fmt.Sprint(i)}, true)
	}
	list, err := NewRefusals(func() string { return dir }).List()
	if err != nil || len(list) != 2 || list[0].Count != 1000 || list[0].Delivery != "" || list[1].Delivery != "d1" || strings.ContainsAny(list[1].Reason, "\x1b\n") {
		t.Fatalf("got %+v, %v", list, err)
	}
	for i := range 2 * maxRefusals {
		add(Refused{Webhook: "issues", At: noon, Kind: "bad_payload", Reason: strings.Repeat("é", 1000), Delivery: fmt.Sprint(i)}, false)
	}
	if list, err = NewRefusals(func() string { return dir }).List(); err != nil || len(list) != maxRefusals || list[0].Delivery != fmt.Sprint(2*maxRefusals-1) {
		t.Errorf("got %d of them, %v", len(list), err)
	}
	if stat, err := os.Stat(filepath.Join(dir, refusalsFile)); err != nil || stat.Size() > maxRefusals*4*maxReason {
		t.Errorf("the file: %v, %v", stat, err)
	}
}

// Slack asks whether somebody is there before it sends anything.
func TestChallenge(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"url_verification","challenge":"3eZb"}`: "3eZb true",
		`{"type":"event_callback","challenge":"3eZb"}`:   "3eZb false",
	} {
		posted, err := document("application/json", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		c, ok := senders()["slack"].challenged(posted)
		if got := fmt.Sprint(c, " ", ok); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}
