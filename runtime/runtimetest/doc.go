// Package runtimetest holds what proves implementations of the runtime's seams: conformance suites
// that each must pass.
//
//	func TestStore(t *testing.T) {
//		runtimetest.TestStore(t, func(t *testing.T) runtimetest.Place { ... })
//	}
package runtimetest
