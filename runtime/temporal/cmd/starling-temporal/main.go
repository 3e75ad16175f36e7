// The command starling-temporal is the command line of starling for projects whose [engine] names a
// Temporal server, with the verb worker.
package main

import (
	"starling/cmd/starling/cli"
	"starling/runtime/temporal/program"
)

func main() { cli.Main(program.Further()) }
