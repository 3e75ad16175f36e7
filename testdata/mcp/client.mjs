// The second MCP client of the tests, with the official JavaScript SDK: it takes calls on standard input, {"tool","arguments"} a line, and answers each with the result.
// cmd/starling/cli/mcp_test.go says how it is run.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "javascript", version: "1" });
await client.connect(new StdioClientTransport({ command: "starling", args: ["mcp"], env: process.env }));
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: args } = JSON.parse(line);
  console.log(JSON.stringify(await client.callTool({ name: tool, arguments: args })));
}
await client.close();
