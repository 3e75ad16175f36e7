package runtime

// System gates are opened by the runtime. Their names start with "!", which no step's name does;
// behind a colon stands the address of the step, the name of the variable, or the address of the
// budget.
const (
	GateUncertain  = "!uncertain:"  // of a step of which nobody knows whether it took effect
	GatePermission = "!permission:" // of an agent that asks whether it may do something
	GateNeeds      = "!needs:"      // of a variable that nobody has brought
	GateBudget     = "!budget:"     // of a budget that is reached
	GateDeadline   = "!deadline"    // of a run whose deadline has passed
	GateWorkspace  = "!workspace"   // of a run whose workspace is on another machine
	GateQuarantine = "!quarantine"  // of a run that cannot go on by itself
	GateProject    = "!project:"    // of a step of an imported run that the project here cannot serve
)
