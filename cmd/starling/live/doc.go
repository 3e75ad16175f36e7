// Package live draws runs in place on a terminal while they go on: a tree of their branches, a line
// for each that is at work, has failed or waits for somebody.
//
//	run k3jc0x7c0x1y ten.star                        12s  14.2k  $0.08
//	✓ plan, fetch                                     2s
//	  parallel  7/10 done, 1 failed
//	  ✗ 3       tests: exit 1                         1s
//	  ⠹ 5       worker: uses Bash go test ./...       8s   1.2k  $0.01
//	◆ ship      for lead: Ship it?                    3s
//	            starling approve k3jc0x7c0x1y/ship --as lead
//
// A [Board] folds the events of one run, and gives the lines that fit a screen. It knows no
// terminal and no clock. A [View] shows boards on a terminal, ten times a second at most. What the
// run says itself is written above them and stays; so does a summary when the view is closed.
package live
