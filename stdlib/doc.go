// Package stdlib holds the builtins and modules that scripts see, as data: what each is called, its
// parameters, its documentation and what a call asks for. [Environment] gathers them, with the
// handlers that serve what they ask, in one value; nothing registers itself.
//
// A builtin computes ([effect.Pure]) or makes a request. It checks at the call whatever can be
// checked there, so that a mistake raises where it stands and costs nothing; arguments are copied
// at the call.
//
// # Requests
//
// These are the requests by kind. runtime reads the arguments of those it serves itself by the
// names below. Arguments that were not passed are not in the dict, and mean what the default says.
// A name in capitals is the step's default name.
//
//	kind          class    step name   arguments
//	agent         waiting  WHO         who: string or role · task · input · context · output: contract · files: list of strings · backend: name of an agent ·
//	                                   timeout · retries · reasks; the last three are read by the resolver, which fills the policy ·
//	                                   memory: a chat of memory.chat, which the runtime gives to the attempt
//	handoff       waiting  TO          to: string or role · payload · task · sender: string or role · accepts: contract · returns: contract ·
//	                                   context: dict · cycle, budget: int · files · backend · timeout · retries · reasks · memory
//	gate          waiting  the name    name · prompt · options: list of names, or ordered dict of name and description · target · data ·
//	              or open              schema: contract · timeout · fallback: an option, or any payload where there are none ·
//	                                   on_timeout: "fail", "return" · data_schema: contract · escalate: list of [target, duration] · quorum: int · editable: bool
//	run           waiting  STEM        script · inputs: dict · name · timeout
//	sleep         waiting  sleep       duration
//	mailbox.take  waiting  itself      name · timeout
//	http          waiting  http.get …  method · url · headers: dict of string or secret · json · body: string or bytes · idempotent: bool
//	fs            waiting  fs.read …   do: "read", "write", "list", "exists", "remove", "glob" · path, or the pattern · content: string or bytes · binary: bool ·
//	                                   recursive: bool
//	artifact      waiting  itself      file · content: any
//	pdf           waiting  pdf.make    body · title
//	context       waiting  context.…   do: "pack", "trim" · paths, queries: list of strings · budget: int · context: dict · history: int
//	sh            waiting  sh.run      argv: list of strings · dir · env: dict of string · stdin: string or bytes
//	measure       waiting  measure.…   do: "tests", "scan", "code" · argv, reports, paths: lists of strings · format · dir · env: dict of string
//	workspace     waiting  workspace.… do: "checkpoint", "rollback", "diff", "commit" · checkpoint · since · message · paths: list of strings
//	journal       waiting  journal.…   do: "steps", "events" · of: address of a step · types: list of strings
//	project       waiting  project.find  agents: list of dicts of agent, backend, tools · workflows: list of strings
//	schedule      waiting  itself      do: "set", "pause", "resume", "remove", "backfill", "all" · schedule · script · cron · every · zone · jitter · inputs: dict ·
//	                                   labels: dict of string · time_input · overlap · catch_up · reason · since, until: RFC 3339
//	memory.vars   answer   itself      do: "get", "set", "delete", "all" · key · value · default
//	memory.chat   answer   itself      do: "add", "all", "keep" · chat · by · text · last: int
//	memory.project waiting itself      do: "get", "set", "delete", "all" · key · value · default
//	queue         waiting  itself      do: "push", "take", "ack", "park", "all" · queue · value · wait: bool · timeout · lease · id: int · tries: int · reason
//	now           answer   now         none; answered with a timestamp ([effect.Timestamp])
//	uuid          answer   uuid        none; answered with a string
//	random        answer   random      none; answered with a float
//	print         output   print       text
//	emit          output   emit        kind · fields: dict
//	log           output   log         level: "debug", "info", "warn", "error" · message · fields: dict
//
// Durations are text ("90s"). Policies:
//
//	kind              timeout           retries           reasks  on uncertain      on_error
//	agent, handoff    see agent.Default…                          retry             as asked
//	gate              as asked          0                 0       does not apply    raise
//	run               as asked          0                 0       does not apply    as asked
//	mailbox.take      as asked          0                 0       does not apply    raise
//	queue             as asked          0                 0       does not apply    raise
//	memory.project    none              0                 0       does not apply    raise
//	http              30s               1 if idempotent   0       retry if idempotent, else ask
//	sh                5m                0                 0       ask, or as asked  raise
//	measure.tests,
//	measure.scan      15m               0                 0       retry             raise
//	pdf               2m                0                 0       retry             raise
//	fs, workspace,
//	measure.code,
//	context, journal, project,
//	artifact, schedule          none              0                 0       retry             raise
//
// A request is idempotent if it is a GET or HEAD, or says so.
package stdlib
