// Package project reads starling.toml, the file that says which agents a project has. It does no
// I/O but for [Digests]: [Find] asks the caller which files exist, [Parse] takes the bytes, which a
// run keeps with it, so that editing the file later changes no run that has started.
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
//	protected               list of patterns       []         paths that no script changes, with
//	                                                          all below them, beside the files that
//	                                                          commands here name: what those load,
//	                                                          such as ["tools/**"]
//	git.filters             list of names          []         filters of git, such as "lfs", that
//	                                                          commits go through, with the commands
//	                                                          of the user's configuration of git
//	machine.steps           int, from 1000         1e9        what a script may compute between two outcomes
//	machine.memory          int, from 1 MiB        1 GiB      bytes that a run may hold, by the machine's own count
//	machine.agents          int, from 1            64         agents that may be at work at once in a run, and, of the project that the store stands in, in all runs, where one
//	                                                          that has none at work may begin one; the others wait for their turn, their deadlines not begun
//	owner.require           "marks"                none       refuse to work where an owner cannot
//	                                                          tell for certain who calls: before
//	                                                          Linux 6.5, and on macOS. It counts
//	                                                          in the project of the store
//	owner.memory            int, from 16 MiB       half of what  bytes that all runs together may hold at
//	                                               the machine,  once, by the machine's own count; one of
//	                                               or its group,  them goes on in any case, the others wait.
//	                                               has           It counts in the project of the store
//	store.keep              int, from 100          all        records of its journal that a run which has not ended keeps at least; from twice as many on
//	                                                          the older ones are trimmed. It counts in the project that the store stands in
//	store.url               address                none       the PostgreSQL database that holds the store, in which {NAME} stands for a secret; a folder by default
//	                                                          With engine.temporal it has what is too large for that server
//	store.lease             duration, from 1s      "10s"      how long others wait for a sign of life of the owner of a store in a database
//	engine.temporal         HOST:PORT              none       a Temporal server that drives the runs, for the program that is built for it
//	engine.namespace        string                 "default"  its namespace
//	engine.queue            string                 "starling"  the queue that its workers listen to
//	engine.tls              true or false          false      whether it is reached over TLS
//	engine.key              {NAME}                 none       secret with which it is asked
//	defaults.timeout        duration               "5m"       of one attempt of an agent
//	defaults.retries        int, 0 to 100          1          further attempts after a failed transport
//	defaults.reasks         int, 0 to 100          2          further attempts after a reply that broke its contract
//	grants.SCRIPT.by        list of names          []         who may define it beside admins: names of tokens, or local:USER
//	grants.SCRIPT.agents    list of names          []         agents that a script of others may ask; SCRIPT is the name it is defined under, or "*"
//	grants.SCRIPT.hosts     list of hosts          []         hosts, or host:port, that it may send requests to
//	grants.SCRIPT.files     "read", "write"        []         what it may do with the files of the workspace; write is to read, too
//	grants.SCRIPT.programs  list of names          []         programs that it may run, of those in sh.allow
//	grants.SCRIPT.tools     list of names          []         tool servers that it may use, or tools of them: "SERVER.TOOL", "SERVER.get_*"
//	secrets.NAME.env        name                   none       environment variable that holds a secret, which stands for {NAME} where this file may have one; one of env, file and command
//	secrets.NAME.file       path                   none       file that holds it, relative to this file
//	secrets.NAME.command    list of strings        none       program that prints it, and its arguments
//	prices.MODEL            {input, output,        unknown    US dollars per million tokens of a model, by its name, or by the beginning of names: "claude-opus-*".
//	                        cached}                           For agents without a price of their own; the model is the one that the program tells, else agents.NAME.model
//	budgets.NAME.usd        number, above 0        one of     what agents may spend, in US dollars
//	budgets.NAME.tokens     int, from 1            the three  tokens that they may read and write
//	budgets.NAME.calls      int, from 1            at least   requests that may be sent to them
//	budgets.NAME.per        "run" or "day"         "run"      each run by itself, or all runs of the store together on a day, UTC
//	budgets.NAME.agents     list of names          all        only these, by the name that is asked for or the one that serves
//	budgets.NAME.models     list of names          all        only these, by name, or with * at the end by how the name begins
//	budgets.NAME.labels     list of "NAME=VALUE"   all        only in runs that have all of these labels
//	budgets.NAME.on_reached "fail" or "gate"       "fail"     what becomes of a step that is to ask one then: it fails, or somebody is asked
//	tools.NAME.command      list of strings        one of     a tool server, which speaks the Model Context Protocol on its standard input and output
//	tools.NAME.url          address                the two    one that speaks it over HTTP
//	tools.NAME.env          list of names          []         environment variables that the program is given, beside what every program needs
//	tools.NAME.secrets      {KEY = text}           {}         variables of the program, or headers of requests, in which {NAME} stands for a secret
//	tools.NAME.allow        list of patterns       all        the tools that anybody may use; an agent may use those of them that its tools names
//	tools.NAME.timeout      duration               "1m"       of one call
//	tools.NAME.max_bytes    int, from 1            256 KiB    of one result
//	tools.NAME.definitions  hash                   any        the definitions of its tools must have this hash, which `starling tools ls` shows
//	notify.NAME.webhook     address                one of     is sent what happens in runs, as JSON: see the package notify; {NAME} in it stands for the secret, which may be the whole
//	notify.NAME.mail        list of addresses      these      are sent mail: "ann@example.org", "Ann <ann@example.org>"
//	notify.NAME.command     list of strings        three      has it on its standard input; a path with a slash is relative to this file
//	notify.NAME.on          list of "gate",        "gate",    what it is told: gates that open, gates that are decided, runs that end, budgets that are
//	                        "decision", "end",     "end",     reached, work that an agent with backend = "inbox" may claim
//	                        "budget", "work"       "budget"
//	notify.NAME.targets     list of names          all        of gates only those for one of these, of work that of one of these agents
//	notify.NAME.started_by  list of names          all        only what happens in runs that one of these has started, and below them: local:USER, or the name of a token
//	notify.NAME.secret      name                   none       secret that a webhook is signed with; one that begins with whsec_ is base64 behind it. Of mail, the password of its server
//	notify.NAME.from        address                required   of mail: whom it is from
//	notify.NAME.smtp        address                required   of mail: its server and port, with the scheme smtp where TLS is begun by STARTTLS, smtps where it is from the start
//	notify.NAME.user        string                 none       of mail: as whom its server is asked
//	notify.NAME.server      address                none       of mail: of `starling serve --http`, for the commands in it
//	notify.NAME.env         list of names          []         environment variables that a command is given, beside what every program needs
//	telemetry.endpoint      address                required   of a collector of OpenTelemetry, without /v1/traces: it is told each run that has ended and, by `starling serve`, metrics
//	telemetry.headers       {HEADER = text}        {}         headers of requests to it, in which {NAME} stands for a secret
//	telemetry.protocol      "http/protobuf",       "http/protobuf"  how it is told
//	                        "http/json"
//	telemetry.timeout       duration, to 25s       "10s"      of one request to it
//	telemetry.interval      duration, from 1s      "1m"       between two reports of metrics
//	inbox.NAME              filter                 none       a section of the inbox on a terminal, such as "target = reviewer and age > 2h"
//	webhooks.NAME.from      "github", "gitlab",    required   who posts to /webhooks/NAME of `starling serve --http`, and how it signs
//	                        "slack", "standard",
//	                        "stripe"
//	webhooks.NAME.secret    name                   required   secret that it signs with, which has env or file
//	webhooks.NAME.token     name                   required   secret that is a token, in whose name and with whose rights it acts
//	webhooks.NAME.when      jq filter              always     what it does not hold for is ignored; $event and $delivery are what the sender calls the event, and its id
//	webhooks.NAME.run       name                   one of     starts this definition
//	webhooks.NAME.push      name                   these      puts an item into this queue
//	webhooks.NAME.signal    jq filter              three      makes the arguments of the tool signal, such as {run: .ref, gate: "deploy", choice: .state}
//	webhooks.NAME.inputs    jq filter              "{}"       of run: makes its inputs of what was posted
//	webhooks.NAME.value     jq filter              "."        of push: makes the item
//	sh.allow                list of programs       []         what sh.run may run; a path with a slash is relative to this file
//	sh.env                  list of names          []         environment variables that commands are given, beside what every program needs
//	sh.read                 list of paths          []         what commands may read beside the system's files and the workspace
//	sh.write                list of paths          []         what they may change beside the workspace, such as a build cache
//	sh.sandbox              whole|partial|none     whole      how commands are confined: wholly or not at all, as far as the machine can, or not
//	sh.network              list of programs       []         those of allow that may use the network
//	agents.NAME.backend     "command", "scripted",  "command"  who answers: an executable, a function of the fake, a model behind the Messages API
//	                        "anthropic", "openai",            of Anthropic or the Chat Completions API of OpenAI and of all who speak it, an executable
//	                        "acp", "mcp", "inbox"             that speaks the Agent Client Protocol, a tool of a tool server, whoever comes for the work
//	agents.NAME.backends    list of names          none       agents of this file whose backends serve instead, the preferred one first: when one is missing
//	                                                          (no program, no key, a breaker that is open) the next is asked
//	agents.NAME.command     list of strings        required   program and arguments; a path with a slash is relative to this file; the preset's by default
//	agents.NAME.preset      "claude", "codex",     none       the command is that coding agent: its arguments, prompt and output are known, and its name is
//	                        "gemini"                          the default of command
//	agents.NAME.permissions "deny", "ask"          "deny"     of acp: what becomes of what it asks leave for and tools and modifies do not allow; "ask" opens a gate
//	agents.NAME.files       bool                   false      of acp: whether it is offered to have files read and written for it; by default it does so itself
//	agents.NAME.mode        string                 its own    of acp: the mode of its sessions, such as "auto"; what it asks leave for may depend on it
//	agents.NAME.login       string                 none       of acp: the method by which it is logged in, such as "gemini-api-key"
//	agents.NAME.server      name                   required   of mcp: the tool server, [tools.NAME]
//	agents.NAME.tool        name                   required   of mcp: its tool
//	agents.NAME.env         list of names          []         environment variables that the agent is given, beside what every program needs; of a model the one
//	                                                          with its key: ["ANTHROPIC_API_KEY"] or ["OPENAI_API_KEY"], [] for an API without
//	agents.NAME.model       string                 program's  the model; required for anthropic and openai
//	agents.NAME.url         address                maker's    of a model's API, without /v1 for anthropic and with it for openai
//	agents.NAME.max_tokens  int, from 1            16384      of a model's reply; for openai the model's own
//	agents.NAME.price       {input, output,        [prices]   US dollars per million tokens, from which usage.usd is computed where a program tells tokens and no
//	                        cached}                           cost; cached input counts as input unless its own price is given
//	agents.NAME.cassette    path                   none       exchanges with it, relative to this file: "run --record" adds to them, "starling test" plays them
//	agents.NAME.tools       list of names          []         the tools that it may use: a tool server, a tool of it ("SERVER.TOOL", "SERVER.get_*"), and for presets
//	                                                          what they may use without asking, in their own notation; for acp kinds of tools such as
//	                                                          "execute" and "fetch"; none beside reading
//	agents.NAME.modifies    bool                   false      whether a preset, or an agent with acp, may change files of the workspace
//	agents.NAME.sandbox     true or false          false      a command is confined as those of sh.run are, with the network
//	agents.NAME.owns        list of patterns       []         the paths that are its to change, with all that is below them: ["src/auth", "docs/**/*.md"];
//	                                                          without any, modifies means all of the workspace
//	agents.NAME.timeout     duration               defaults   of one attempt of this agent
//	agents.NAME.retries     int, 0 to 100          defaults   further attempts of this agent after a failed transport
//	agents.NAME.reasks      int, 0 to 100          defaults   further attempts of this agent after a reply that broke its contract
//	agents.NAME.limit       int, from 1            any        how many requests to it may be at work at once in a run
//	agents.NAME.queue       string                 any        the queue of workers that ask it, with [engine]
//	agents.NAME.instructions string                ""         what the agent is told with every task
//	agents.NAME.input       contract               none       what a handoff to it must carry
//	agents.NAME.output      contract               none       what it must reply
//
// A key that belongs to another backend is an error. Values of variables never stand in the file.
package project
