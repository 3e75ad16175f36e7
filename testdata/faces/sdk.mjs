// A client of `starling mcp` with the official JavaScript SDK: over standard input and output, or over
// HTTP where MCP_URL and MCP_TOKEN say so. It prints what it saw as one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [program, ...args] = process.argv.slice(2);
const client = new Client({ name: "javascript", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  asked.push({ message: params.message, fields: Object.keys(params.requestedSchema.properties).sort() });
  return { action: "accept", content: { choice: asked.length === 1 ? "maybe" : "yes", reason: "it is good" } };
});
const transport = process.env.MCP_URL
  ? new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` } },
    })
  : new StdioClientTransport({ command: program, args, env: process.env });
await client.connect(transport);

const call = async (name, input) => {
  const r = await client.callTool({ name, arguments: input });
  return r.isError ? { error: r.content[0].text } : r.structuredContent;
};
await call("define", { name: "ask", source: 'def main():\n    return gate("ship", options = ["yes", "no"]).choice\n' });
const tools = (await client.listTools()).tools.map((t) => t.name).sort();
const misfit = await call("run_ask", {}); // the first form is filled in wrongly
let seen = await call("run_ask", {});
const run = seen.run;
if (seen.status !== "completed") seen = await call("await", { run });
const twenty = await Promise.all(Array.from({ length: 20 }, () => call("status", { run })));
const { run: other } = await call("run", { source: 'def main():\n    gate("never")\n' });
await call("cancel", { run: other });
let cancelled = {};
for (let i = 0; i < 20 && cancelled.status !== "cancelled"; i++) cancelled = await call("await", { run: other });
console.log(JSON.stringify({
  tools, asked, misfit, output: seen.output,
  twenty: new Set(twenty.map((s) => s.status)).size === 1 && twenty[0].status,
  cancelled: cancelled.status,
  wrong: await call("signal", { run, gate: "ship", choice: "yes" }),
  unknown: await call("run", { scripts: "x" }),
}));
await client.close();
