package listing

import (
	"encoding/json"
	"strings"
)

// Review is what is told of a Review of @std/knowledge.star.
type Review struct {
	Entry     string `json:"entry_id"`
	File      string `json:"knowledge_file"`
	Question  string `json:"question"`
	AutoApply bool   `json:"auto_apply"`
	Answer    string `json:"answer"`
	Text      string `json:"text"`
	Proposal  string `json:"proposal"`
	Said      []struct{ By, Text string }
}

// ReviewOf reads a record leniently: anybody may put something into a queue.
func ReviewOf(value json.RawMessage) Review {
	var r Review
	if json.Unmarshal(value, &r) != nil {
		return Review{}
	}
	return r
}

// Waits tells whether a person is to answer a record that by has put into the queue: what no run
// has put there is nobody's.
func (r Review) Waits(by string) bool {
	return strings.Contains(by, "@") && r.Entry != "" && r.Question != "" && !r.AutoApply && r.Answer == ""
}

// Shown is a record for people: the entry as it is, what is proposed, and what wellspring has said.
func (r Review) Shown() string {
	var b strings.Builder
	part := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("  " + title + "\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n")
		}
	}
	part(r.File+" says", r.Text)
	part("proposed", r.Proposal)
	for _, said := range r.Said {
		part(said.By, said.Text)
	}
	return strings.TrimRight(b.String(), "\n")
}
