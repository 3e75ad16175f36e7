//go:build unix && !linux

package process_test

// attackMain has nobody to attack: there are no marks here.
func attackMain(string) {}
