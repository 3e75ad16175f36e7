package run

// What several refusals advise who has tools.
const (
	statusLists = "status with steps lists them"
	actAs       = "authenticate with the token of that name, or give it as as: %q; both names are recorded"
)
