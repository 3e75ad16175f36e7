//go:build !linux

package badger

// Rest does nothing where the system has no word for it.
func Rest() {}
