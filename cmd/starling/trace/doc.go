// Package trace is the verb trace: it tells OpenTelemetry what a run has done.
//
// A trace is made of the journal, and of nothing else: the same run gives the same spans, with the
// same ids, whoever makes them and however often. So a crash loses none, and what is sent again
// takes the place of what was there. It has a span for the run, below it one for each step, below
// that one for each attempt of an agent, with the attributes of the GenAI conventions; what a run
// has started belongs to its trace. Nothing of what is worked on is in it: no inputs, prompts,
// replies, outputs or messages of errors, and so no secret.
package trace
