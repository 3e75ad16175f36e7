// Package query answers what clients ask of runs with nothing but documents and events: steps and
// their tries, artifacts, the difference of two runs, diagrams, trees. It works with any
// [runtime.Engine], also one in another process.
package query
