// Package project reads starling.toml, the file that says which agents a project has. It does no I/O: [Find] asks the caller which files
// exist, [Parse] takes the bytes, which a run keeps with it, so that editing the file later changes no run that has started.
//
//	fake = "agents.star"
//
//	[defaults]
//	timeout = "5m"
//
//	[agents.reviewer]
//	command = ["./reviewer.py", "--strict"]
//	env = ["REVIEWER_API_KEY"]
//	instructions = "You review data before it is published."
//	output = "{approved: bool, reason: string(1..)}"
//
// These are all the keys; any other is an error.
//
//	key                     value                  default    meaning
//	fake                    path                   none       script of scripted agents, relative to this file; the command line's --fake wins
//	machine.steps           int, from 1000         1e9        what a script may compute between two outcomes
//	machine.memory          int, from 1 MiB        1 GiB      bytes that a run may hold, by the machine's own count
//	defaults.timeout        duration               "5m"       of one attempt of an agent
//	defaults.retries        int, 0 to 100          1          further attempts after a failed transport
//	defaults.reasks         int, 0 to 100          2          further attempts after a reply that broke its contract
//	grants.SCRIPT.agents    list of names          []         agents that a script of others may ask; SCRIPT is the name it is defined under, or "*"
//	grants.SCRIPT.hosts     list of hosts          []         hosts, or host:port, that it may send requests to
//	grants.SCRIPT.files     "read", "write"        []         what it may do with the files of the workspace; write is to read, too
//	agents.NAME.backend     "command", "scripted"  "command"  who answers: an executable, or a function of the fake
//	agents.NAME.command     list of strings        required   program and arguments; a path with a slash is relative to this file
//	agents.NAME.env         list of names          []         environment variables that the agent is given, beside what every program needs
//	agents.NAME.timeout     duration               defaults   as above, of this agent
//	agents.NAME.retries     int, 0 to 100          defaults   as above, of this agent
//	agents.NAME.reasks      int, 0 to 100          defaults   as above, of this agent
//	agents.NAME.instructions string                ""         what the agent is told with every task
//	agents.NAME.input       contract               none       what a handoff to it must carry
//	agents.NAME.output      contract               none       what it must reply
//
// command and env belong to the backend "command" alone. Values of variables never stand in the file.
package project
