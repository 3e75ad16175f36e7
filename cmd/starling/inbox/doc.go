// Package inbox is the open gates as a view of its own on a terminal: a list in sections, what the
// gate is about beside it, and a form that is checked while it is filled in.
//
//	done, err := inbox.Show(ctx, desk)
//
// A [Desk] is all that it knows of the world. The view is a function of messages, as bubbletea has
// it: keys, the clock, and what came of asking the desk, which happens beside it. So tests play it
// without a terminal.
//
// An answer is on its way for a while before it is sent, in which it can be taken back; leaving
// sends what is on its way at once, a kill or a signal sends nothing. What was typed is kept until
// it was accepted. What others have written goes through clean before it is drawn.
package inbox
