// Package filter is the language in which people and agents say which runs, gates or decisions they
// mean:
//
//	status = suspended and target = "reviewer" and age > 2h
//	script ~ review and not (carried or session)
//	status in (failed, cancelled) and started >= 2026-11-01
//
// A [Filter] is parsed once and is applied to runs with [Filter.Runs], to open gates with
// [Filter.Gates]. It is immutable; goroutines may share it.
//
// A condition is FIELD OPERATOR VALUE, or a field alone where it is yes or no. `=` and `!=` compare
// whole texts, `~` and `!~` look for a part, whatever its case, with `*` for anything in between;
// `<` `<=` `>` `>=` order numbers, durations and times; `in (A, B)` is one of several. `and` binds
// more tightly than `or`, `not` more than both. A value is quoted when it has blanks, brackets,
// commas, operators, or a "!" in front.
//
// A run has all of its open gates: a condition on a gate's field holds for a run when it holds for
// one of them. `!=` and `!~` are `not =` and `not ~`, and so hold where there is no gate. What a
// run has not, such as a deadline, is neither more nor less than anything.
//
// Decisions have a filter of their own, with their own fields: [ParseDecisions].
//
// [Fields] and [DecisionFields] list the fields; grammar.md is the grammar. What is wrong with a
// text is a diagnostic.List of the kind "usage", under the very characters.
package filter
