// The command starling runs scripts that orchestrate agents, and answers for their runs.
package main

import "starling/cmd/starling/cli"

func main() { cli.Main(nil) }
