package check

// Rule is one kind of diagnostic, as tools list them.
type Rule struct {
	Kind string // the stable word
	Doc  string // one sentence
}

// Rules lists every kind that [Files], and starling/lang before it, can report.
func Rules() []Rule {
	return []Rule{
		{"syntax", "The text is not Starlark."},
		{"name", "The text is Starlark and means nothing, or uses what the dialect leaves out."},
		{"undefined", "A name is defined nowhere."},
		{"limit", "A file is too large or too deep for the compiler."},
		{"missing_module", "A file that is loaded cannot be had."},
		{"missing_script", "A child script that is named literally cannot be had."},
		{"main", "A script has one def main, at the top level itself, without *args."},
		{"inputs", "The declared inputs and the parameters of main are not the same."},
		{"unknown_keyword", "A call passes a keyword that the function does not have."},
		{"too_many_arguments", "A call passes more positional arguments than the function takes."},
		{"missing_argument", "A call leaves a required argument out."},
		{"repeated_argument", "A call passes an argument twice."},
		{"bad_type", "A literal argument is of a type that the parameter does not take."},
		{"bad_choice", "A literal argument is not one of the texts that the parameter takes."},
		{"duplicate_key", "A literal dict has a key twice, or a gate an option."},
		{"bad_range", "A literal number is not one of those that the parameter takes."},
		{"bad_duration", "A literal duration is none, or is zero where there must be time."},
		{"bad_name", "A literal name is one that no address can hold."},
		{"unsafe_duration", "A literal duration is hardly meant: too short for anybody to answer, or longer than a year."},
		{"unknown_attribute", "A module, or a value whose type the text shows, does not have the attribute."},
		{"unknown_export", "A file does not define the name that is loaded from it."},
		{"unknown_agent", "An agent is named that neither the project file nor the fake has."},
		{"unsteerable", "A callback steers an agent that takes no messages while it works."},
		{"unknown_tool", "A tool server is named that the project file does not have."},
		{"contract", "The text of a literal contract is not one."},
		{"bad_fallback", "The fallback of a gate is not one of its options."},
		{"no_deadline", "A gate says what happens at its deadline and has none."},
		{"unasked", "A gate has a target that is never asked, because it escalates."},
		{"duplicate_gate", "Two gates on one way have the same name, so that the second has the address NAME#2."},
		{"effect_at_load", "An effect is called where the top level must be pure."},
		{"captured_variable", "A lambda that is given to parallel would see only the last value of a loop's variable."},
		{"overlap", "Two branches of one parallel ask agents that may change the same files."},
		{"endless_run", "A script starts itself whatever happens."},
		{"isolation", "A parallel says of the worktrees of its branches what makes no sense."},
		{"unassigned", "A local variable is read where nothing can have given it a value."},
		{"unused_load", "A name is loaded and never used."},
		{"unused_local", "A local variable is never read."},
		{"unreachable", "A statement is never reached."},
	}
}
