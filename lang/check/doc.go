// Package check says what can be said of a script without running it.
//
// [Files] takes the modules of a program, parsed and resolved, and gives diagnostics: what the machine would refuse for certain is an
// error, what is probably not meant a warning. Nothing here guesses at values. A rule looks at what stands literally in the text and stays silent otherwise,
// so that an error is always worth stopping for.
//
// Each rule has a stable word, the Kind of its diagnostics:
//
//	unknown_keyword too_many_arguments missing_argument repeated_argument   calls of builtins and of own functions
//	bad_type bad_choice bad_duration bad_name                              literal arguments of builtins
//	unknown_attribute                                                      a name that a module does not have
//	unknown_export                                                         load of a name that the file does not define
//	contract                                                               a mistake inside a literal contract("…"), placed in the file
//	bad_fallback duplicate_gate                                            gates
//	effect_at_load                                                         effects where the top level must be pure
//	captured_variable                                                      lambdas given to parallel that see a loop's last value only
//	unused_load unused_local unreachable                                   warnings about text that does nothing
//
// The builtins, with their parameters and classes, come from the environment as data: a rule knows a builtin by name only where it has a
// meaning of its own (gate, parallel, contract, fail, forever).
package check
