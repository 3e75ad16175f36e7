package webhook

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"starling/runtime/wholefile"
)

// Refused is a delivery that was not taken.
type Refused struct {
	Webhook  string    `json:"webhook"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Reason   string    `json:"reason"`
	Delivery string    `json:"delivery,omitempty"` // the sender's id of it; "" where the sender is not known
	Event    string    `json:"event,omitempty"`
	Kept     bool      `json:"kept,omitempty"` // what was posted is, and can be replayed
	Count    int       `json:"count"`          // of deliveries that nobody has signed: how many there were, At is the newest
}

// Refusals keeps what was refused, in a file of the store's folder, for people who look why nothing
// comes. It has nothing of what was posted. Senders that are not known cannot fill it: what they
// post is one entry of a webhook that there is, with a number, and written once in a while. It is
// used concurrently.
type Refusals struct {
	folder func() string

	mu      sync.Mutex // guards what follows
	list    []Refused  // the oldest first
	read    bool
	written time.Time
}

const (
	refusalsFile = "webhooks.json"
	maxRefusals  = 100 // that are kept; beside them one of each webhook for what nobody has signed
	maxReason    = 500 // characters
	writeGap     = time.Second
)

// NewRefusals keeps refusals in a folder, which is asked for when there is something to keep.
func NewRefusals(folder func() string) *Refusals { return &Refusals{folder: folder} }

func (r *Refusals) path() string { return filepath.Join(r.folder(), refusalsFile) }

// Add notes a delivery. unsigned says that its sender is not known.
func (r *Refusals) Add(one Refused, unsigned bool) error {
	one.Reason, one.Delivery, one.Event = short(one.Reason), short(one.Delivery), short(one.Event)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		if list, err := r.load(); err == nil {
			r.list = list
		}
		r.read = true
	}
	one.Count = 1
	if unsigned {
		one.Delivery, one.Event = "", ""
		same := func(o Refused) bool {
			return o.Webhook == one.Webhook && o.Kind == one.Kind && o.Reason == one.Reason && o.Delivery == ""
		}
		if i := slices.IndexFunc(r.list, same); i >= 0 {
			one.Count += r.list[i].Count
			r.list = slices.Delete(r.list, i, i+1)
		}
	}
	r.list = append(r.list, one)
	r.list = r.list[max(0, len(r.list)-maxRefusals):]
	if unsigned && one.At.Sub(r.written).Abs() < writeGap {
		return nil
	}
	r.written = one.At
	return wholefile.Replace(r.path(), func(w io.Writer) error { return json.NewEncoder(w).Encode(r.list) })
}

// short is a text that others have chosen: on one line, and cut.
func short(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsGraphic(c) {
			return c
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return text
}

// List is what is kept, the newest first.
func (r *Refusals) List() ([]Refused, error) {
	list, err := r.load()
	slices.Reverse(list)
	return list, err
}

func (r *Refusals) load() (list []Refused, err error) {
	text, err := os.ReadFile(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return []Refused{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}
