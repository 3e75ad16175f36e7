package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/project"
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

// What is kept is bounded in number, in size and in age, and of one delivery it is the newest.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	s := NewShelf(func() string { return dir })
	keep := func(id string, after time.Duration, posted string) {
		t.Helper()
		if err := s.Keep(Kept{Refused{Webhook: "issues", Delivery: id, At: noon.Add(after)}, []byte(posted)}); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(n int, first, last string) {
		t.Helper()
		list, err := NewShelf(func() string { return dir }).List()
		if err != nil || len(list) != n || n > 0 && (list[0].Delivery != first || list[n-1].Delivery != last) {
			t.Fatalf("got %d of them, %v, want %d from %s to %s", len(list), err, n, first, last)
		}
	}
	holds(0, "", "")
	for i := range maxKept + 5 {
		keep(fmt.Sprint(i), time.Duration(i)*time.Second, `"x"`)
	}
	holds(maxKept, "5", "104")
	keep("7", time.Hour, `"y"`)
	holds(maxKept, "5", "7")
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	for i := range 20 {
		keep(fmt.Sprint("large", i), 2*time.Hour+time.Duration(i)*time.Second, large)
	}
	holds(15, "large5", "large19")
	keep("late", keptFor+3*time.Hour, `"z"`)
	holds(1, "late", "late")
	if err := s.Drop("issues", "late"); err != nil {
		t.Fatal(err)
	}
	holds(0, "", "")
}

// The token that Slack puts into each delivery is not kept, nor is a secret, however it is written.
func TestKeptWithoutSecrets(t *testing.T) {
	dir := t.TempDir()
	file := &project.File{Secrets: []project.Secret{{Name: "other", Env: "OTHER"}}}
	p := posting{Receiver: &Receiver{Shelf: NewShelf(func() string { return dir }), Getenv: func(string) (string, bool) { return "hunter2-hunter2", true }},
		file: file, from: senders()["slack"], hidden: map[string]string{"signs": `a "quoted" secret`}}
	posted := map[string]any{"token": "Jhj5dZrVaK7ZwHHjRyZWjbDl", "text": `a "quoted" secret and hunter2-hunter2`, "n": 1}
	if err := p.keep(Refused{Webhook: "chat", Delivery: "d", At: noon}, posted); err != nil {
		t.Fatal(err)
	}
	list, err := p.Shelf.List()
	if want := `{"n":1,"text":"[signs] and [other]"}`; err != nil || len(list) != 1 || string(list[0].Posted) != want {
		t.Errorf("got %+v, %v, want %s", list, err, want)
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
