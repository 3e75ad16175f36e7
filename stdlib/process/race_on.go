//go:build race

package process

// unhurried is for guards of a build with the race detector, which waits for a second before a
// process exits.
var unhurried = []string{"GORACE=atexit_sleep_ms=0"}
