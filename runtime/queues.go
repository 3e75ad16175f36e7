package runtime

import (
	"encoding/json"
	"time"
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
