// Package memory is a runtime.Store in memory, for whatever needs an engine and not its memory of
// last week: the tests of scripts, and those of what stands on a Store.
//
// It keeps the promises of runtime.Store and nothing more, so that code which relies on more than
// was promised is found out. [Store.Crash] returns what a power cut would have left,
// [Store.FailCommit] makes a commit fail with its change applied or not, which its caller cannot
// know.
//
//	store := memory.New()
//	engine, err := runtime.Open(store, env, runtime.Options{})
//	…
//	store = store.Crash() // the engine's commits are refused from now on
//	engine.Close()
//	engine, err = runtime.Open(store, env, runtime.Options{})
package memory
