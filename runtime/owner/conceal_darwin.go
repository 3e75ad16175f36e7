package owner

// conceal does nothing: here nobody but root and a debugger that is allowed to reads another
// process.
func conceal() {}

func reveal() {}
