// Package tool calls tools of servers that speak the Model Context Protocol: for scripts, for
// models whose tool loop runs here, and for agents that are programs with a loop of their own. The
// protocol is modelcontextprotocol/go-sdk's.
//
//	script ─────────────┐
//	model's tool loop ──┼─► Proxy ──► Servers ──► server: a guarded process, or an address
//	coding agent ► Endpoint ┘
//
// [Servers] holds what is at work in this process. A server is started when the first attempt that
// may use it begins, shared by all attempts of the run, and ended when the last of them is over:
// [Proxy.Close] returns when it is gone. It stands under the guard of stdlib/process, so it does
// not outlive this process either.
//
// [Proxy] is what one attempt may use. Every call goes through it, whoever makes it: what is not on
// the list is denied, time and size are bounded, the server's definitions must still be what they
// were, and the call is journaled as an event of the attempt:
//
//	tool_call    {server, tool, input, ok, ms, bytes, code?, text?}
//	tool_denied  {server, tool, code, text}
//
// Codes are those of [Fault]. A server that has died is started again for the next call.
//
// What a server repeats of its secrets is replaced by their names before anybody sees it.
package tool
