// Package runtimetest holds what proves implementations of the runtime's seams: conformance suites that each must pass, and a Store in
// memory that crashes and fails on demand.
//
//	func TestStore(t *testing.T) {
//		runtimetest.TestStore(t, func(t *testing.T) runtimetest.Place { ... })
//	}
//
// Memory is for tests of what stands on a Store: it keeps the promises of runtime.Store and nothing more, so that code which relies on
// more than was promised is found out. Crash returns what a power cut would have left, FailCommit makes a commit fail with its change
// applied or not, which its caller cannot know.
package runtimetest
