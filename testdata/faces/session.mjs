// A client over HTTP with the official JavaScript SDK whose session ends with the owner of the store. It
// prints a line when it waits for that, goes on after a line of its input, and prints what it was told.
import { once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const connect = async (token) => {
  const client = new Client({ name: "javascript", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), {
      requestInit: { headers: token && { Authorization: `Bearer ${token}` } },
    }),
  );
  return client;
};
const told = (work) => work.then(() => "nothing", (e) => `${e.code}: ${e.message}`);

const [nobody, stranger] = [await told(connect()), await told(connect("wrong"))];
let client = await connect(process.env.MCP_TOKEN);
const call = async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent;
const { run } = await call("run", { source: 'def main():\n    return gate("ship", options = ["yes", "no"]).choice\n' });
console.log("waiting");
await once(process.stdin, "data");
const ended = await told(call("inbox", {}));
client = await connect(process.env.MCP_TOKEN);
await call("signal", { run, gate: "ship", choice: "yes" });
const { output } = await call("await", { run });
console.log(JSON.stringify({ nobody, stranger, ended, output }));
process.exit(0);
