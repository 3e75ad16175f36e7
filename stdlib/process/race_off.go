//go:build !race

package process

// unhurried is for builds with the race detector.
var unhurried []string
