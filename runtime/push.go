package runtime

import (
	"context"
	"encoding/json"
)

// Queues lets callers put items into queues, for runs to take, and tells whether a run is there. It
// is served by engine.Local and by a client of its socket.
type Queues interface {
	// Push puts an item at the end of a queue. It is in the store when it returns, and runs that
	// wait for one are told.
	Push(ctx context.Context, r PushRequest) (*Pushed, error)

	// Attended tells whether somebody is at a queue: a run that has not ended holds an item of it,
	// or one that is carried waits for one. Of a queue with one item, which is a lock, it tells
	// whether that is taken.
	Attended(ctx context.Context, queue string) (bool, error)
}

// PushRequest asks to put an item into a queue.
type PushRequest struct {
	Key   string          `json:"key"` // while an item of this key is in the queue nothing is put there; so a request that is sent again does nothing until the item has left. "" for none
	Queue string          `json:"queue"`
	Value json.RawMessage `json:"value"` // JSON
}

// Pushed tells what became of a push.
type Pushed struct {
	Schema string `json:"schema"`
	Queue  string `json:"queue"`
	Item   uint64 `json:"item"`            // its number in the queue
	Known  bool   `json:"known,omitempty"` // an item of the key was there: nothing was put into the queue
	Other  bool   `json:"other,omitempty"` // and it has another value: one that was pushed under the key, or one that it was given back with
	Oldest uint64 `json:"oldest"`          // number of the oldest item that is in the queue and not parked
}
