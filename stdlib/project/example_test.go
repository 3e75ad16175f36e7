package project_test

import (
	"errors"
	"fmt"

	"starling/lang/diagnostic"
	"starling/stdlib/project"
)

func ExampleParse() {
	_, err := project.Parse("starling.toml", []byte("[agents.reviewer]\ncomand = ['./reviewer.py']\n"))
	var list diagnostic.List
	if errors.As(err, &list) {
		fmt.Print(list.Render())
	}
	// Output:
	// starling.toml:1:9: agents.reviewer: this agent has no command
	//   | [agents.reviewer]
	//   |         ^^^^^^^^
	//   = help: add command = ["program", "argument"], preset = "claude", or backend = "scripted" for a function of the fake
	// starling.toml:2:1: unknown key agents.reviewer.comand
	//   | comand = ['./reviewer.py']
	//   | ^^^^^^
	//   = help: did you mean "command"?
}
