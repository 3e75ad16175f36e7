package runtime

import "context"

// Counting tells what an engine has counted since it was opened. It is an extension of [Engine] and
// asks nobody for rights: whoever shows it to others does.
type Counting interface {
	Counted() []Count
}

// Census tells how the runs of a store stand without reading each of them again. It is an extension
// of [Engine].
type Census interface {
	Standing(ctx context.Context) (*Standing, error)
}

// Standing is how the runs stand that have not ended.
type Standing struct {
	Status  map[Status]int // how many are in each
	Carried int            // that a process drives
	Overdue int            // that nobody drives, with a timer that has passed
	Gates   int            // that are open in them
}

// Count is how often something has happened.
type Count struct {
	What  Counter
	Of    string // which: a status, a class of attempts, a backend; "" where there is but one
	Value float64
}

// Counter is something that is counted.
type Counter int

// The counters.
const (
	CountStarts    Counter = iota // runs that were started
	CountEnds                     // runs that have ended, by status
	CountGates                    // gates that were opened
	CountDecisions                // gates that were decided, by how
	CountAttempts                 // attempts that have ended, by class
	CountInput                    // tokens that agents have read, by backend
	CountOutput                   // tokens that they have written, by backend
	CountDollars                  // what they have cost, by backend
)
