//go:build unix && !linux

package process_test

// probeMain is for Linux, where there is a sandbox to be probed.
func probeMain(string) { panic("there is no sandbox") }
