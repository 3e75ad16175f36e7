// Package check says what can be said of a script without running it.
//
// [Files] takes the modules of a program, parsed and resolved, and gives diagnostics: what the
// machine would refuse for certain is an error, what is probably not meant a warning. Nothing here
// guesses at values. A rule looks at what stands literally in the text and stays silent otherwise,
// so that an error is always worth stopping for.
//
// Each rule has a stable word, the Kind of its diagnostics: see [Rules].
//
// The builtins, with their parameters and classes, come from the environment as data: a rule knows
// a builtin by name only where it has a meaning of its own (gate, agent, handoff, role, parallel,
// attempt, contract, fail, forever).
package check
