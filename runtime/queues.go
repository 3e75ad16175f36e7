package runtime

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"starling/lang/effect"
)

// QueueSummary is one queue in a list: one that holds something.
type QueueSummary struct {
	Queue   string     `json:"queue"`
	Waiting int        `json:"waiting"` // items that anybody may take
	Held    int        `json:"held"`
	Parked  int        `json:"parked"`
	Oldest  *time.Time `json:"oldest,omitempty"`  // when the oldest item that waits was put there
	Holders []string   `json:"holders,omitempty"` // the runs that hold items, each once, the oldest item's first
}

// Item is an item of a queue.
type Item struct {
	Item   uint64          `json:"item"`   // its number in the queue
	Status string          `json:"status"` // "waiting", "held" or "parked"
	Key    string          `json:"key,omitempty"`
	Value  json.RawMessage `json:"value"`
	By     string          `json:"by"` // RUN@STEP, or who has put it there from outside
	At     time.Time       `json:"at"`
	Tries  int             `json:"tries"`            // how often it was taken
	Holder string          `json:"holder,omitempty"` // the run that holds it, or has parked it
	Until  *time.Time      `json:"until,omitempty"`  // when its lease is over
	Reason string          `json:"reason,omitempty"` // why it was parked
}

// queues lists the queues by name; of one that is named its items as well, those that are parked behind the others.
func (r *reader) queues(q Query) (*Listing, error) {
	within := ""
	if q.Queue != "" {
		if err := effect.CheckName(q.Queue); err != nil {
			return nil, refuse(ErrUsage, "queue: %v", err)
		}
		within = q.Queue + "/"
	}
	out := &Listing{Schema: Schema}
	found := map[string]*QueueSummary{}
	for _, prefix := range []string{prefixQueue, prefixParked} {
		err := scan(r.store, prefix+within, func(rest string, row []byte) error {
			name, number, isItem := strings.Cut(within+rest, "/")
			if !isItem {
				return nil // its counter
			}
			it, err := itemOf(row)
			if err != nil {
				return err
			}
			if found[name] == nil {
				found[name] = &QueueSummary{Queue: name}
			}
			shown := it.document(binary.BigEndian.Uint64([]byte(number)), it.status(prefix, r.clock(), r.ended))
			countItem(found[name], shown)
			if q.Queue != "" && (q.Limit == 0 || len(out.Items) < q.Limit) {
				out.Items = append(out.Items, shown)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, queue := range found {
		out.Queues = append(out.Queues, *queue)
	}
	slices.SortFunc(out.Queues, func(a, b QueueSummary) int { return strings.Compare(a.Queue, b.Queue) })
	return out, nil
}

func countItem(q *QueueSummary, it Item) {
	switch it.Status {
	case itemWaiting:
		if q.Waiting++; q.Oldest == nil {
			q.Oldest = &it.At
		}
	case itemHeld:
		if q.Held++; !slices.Contains(q.Holders, it.Holder) {
			q.Holders = append(q.Holders, it.Holder)
		}
	default:
		q.Parked++
	}
}

// document is an item as people see it.
func (it *item) document(number uint64, status string) Item {
	d := Item{Item: number, Status: status, Key: it.Key, Value: jsonOfPayload(it.Value), By: it.By, At: it.At, Tries: it.Tries, Reason: it.Reason}
	if status != itemWaiting {
		d.Holder = it.Holder
	}
	if status == itemHeld && !it.Until.IsZero() {
		d.Until = &it.Until
	}
	return d
}
