// Package temporal carries runs on a Temporal server: an [Engine] starts them, tells them things
// and reads them, and any number of workers ([Worker]) drive them.
//
// A run is a workflow with its id, and its turns are recorded. The workflow is a small postman: it
// hands what has come in (an update, a signal, the end of an activity, a timer) to a local
// activity, which takes one turn of the core that all engines share (runtime/run). What that
// leaves, its records and rows and what is to be begun, is the activity's result, so it is in the
// history with the commands that follow from it, in one completion of a workflow task: nothing is
// begun before its record is durable, and nobody is answered before that. A replay of the postman
// runs no script. So a later build, a long computation or a month of waiting changes nothing that
// Temporal compares.
//
// The history is the journal. Who looks at a run reads it, as a store in memory, with the reader
// that other stores have (runtime/engine, Desk); for that no worker has to be there.
//
// The server lists runs by what they put into their memos, which may lag. What names a run does
// not.
package temporal
