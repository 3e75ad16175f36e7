// Package form has a person answer a gate, line by line: an option by number or by name, then what
// the contract of the gate asks for, field by field, or what is to stand in place of its data.
//
//	options    1) yes: publish it      a number or a name, and the reason behind it
//	keep/edit                          where the data may be changed
//	fields     n: int[1..9], 3 by default
//
// A field takes what fits it as JSON, else as a text: 7 is a number where a number may stand, and
// text is written without quotes. In quotes it may be empty or hold line breaks. An empty line
// takes what stands there already, the default, or leaves out what may be left out. Where a record
// begins, one line of JSON may give it whole. What does not fit is said with its place and asked
// again.
//
// Lines that nobody types at a terminal are read in the same way.
package form
