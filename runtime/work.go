package runtime

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Leases, when a claim does not say how long.
const (
	DefaultLease = 5 * time.Minute
	MinLease     = time.Second
	MaxLease     = 24 * time.Hour
)

// Claim is a piece of work that somebody has taken.
type Claim struct {
	Claim    string          `json:"claim"` // RUN@STEP:N, which heartbeat and submit name
	Run      string          `json:"run"`
	Step     string          `json:"step"`
	Agent    string          `json:"agent"`              // whose work it is
	Attempt  int             `json:"attempt"`            // number of the attempt
	Until    time.Time       `json:"until"`              // then it is offered again, unless a heartbeat comes first
	Deadline *time.Time      `json:"deadline,omitempty"` // of the attempt, which heartbeats do not move
	Request  json.RawMessage `json:"request,omitempty"`  // what is asked, as starling/agent/v1; in the receipt of the claim
	Returns  string          `json:"returns,omitempty"`  // contract of the result, "" for none; in the receipt of the claim
	Messages []string        `json:"messages,omitempty"` // what the agent was told meanwhile: act on them before the next step
	Over     string          `json:"over,omitempty"`     // why there is nothing more to do: on_event has ended the attempt
}

// Work is an open piece of work that an agent comes for.
type Work struct {
	Address string     `json:"address"` // RUN@STEP
	Agent   string     `json:"agent"`   // who may claim it
	Task    string     `json:"task"`
	Since   time.Time  `json:"since"`           // when it was asked for
	By      string     `json:"by,omitempty"`    // who has claimed it; "" while it is on offer
	Until   *time.Time `json:"until,omitempty"` // of the claim
}

// Report is what somebody says who does pulled work. With a heartbeat only the events count.
type Report struct {
	Output json.RawMessage `json:"output,omitempty"` // what the contract of the step wants
	Text   string          `json:"text,omitempty"`
	Status string          `json:"status,omitempty"` // "ok", which is the default, "stopped", "blocked" or "error"
	Note   string          `json:"note,omitempty"`
	Usage  json.RawMessage `json:"usage,omitempty"`  // an object with usd, input_tokens, output_tokens
	Events json.RawMessage `json:"events,omitempty"` // a list of objects, each with a kind

	// Artifacts are what the work leaves beside its result, by name, such as "transcript.txt":
	// effect.MaxBlobs bytes of them at most.
	Artifacts map[string][]byte `json:"artifacts,omitempty"`
}

// ParseClaim takes RUN@STEP:N apart.
func ParseClaim(text string) (run, step string, n int, err error) {
	at, colon := strings.IndexByte(text, '@'), strings.LastIndexByte(text, ':')
	if at > 0 && colon > at+1 {
		n, err = strconv.Atoi(text[colon+1:])
	}
	if n < 1 || err != nil {
		return "", "", 0, Refusef(ErrUsage, "got the claim %q, want RUN@STEP:N", text).WithHelp("starling claim gives it").WithCall("claim gives it")
	}
	return text[:at], text[at+1 : colon], n, nil
}
