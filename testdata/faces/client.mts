// A client made from /openapi.json by openapi-typescript. It is compiled with --strict.
import createClient from "openapi-fetch";
import type { paths } from "./schema.mjs";

const client = createClient<paths>({
  baseUrl: process.env.STARLING_URL,
  headers: { Authorization: `Bearer ${process.env.STARLING_TOKEN}` },
});
const source = 'def main():\n    return gate("ship", options = ["yes", "no"]).choice\n';
const started = await client.POST("/v1/run", { body: { source } });
if (!started.data) throw new Error(JSON.stringify(started.error));
const run = started.data.run;
const wrong = await client.POST("/v1/signal", { body: { run, gate: "ship", choice: "maybe" } });
const answered = await client.POST("/v1/signal", { body: { run, gate: "ship", choice: "yes" } });
if (!answered.data) throw new Error(JSON.stringify(answered.error));
const ended = await client.POST("/v1/await", { body: { run } });
const nothing = await client.POST("/v1/status", { body: { run: "zzzzzzzzzzzz" } });
console.log(JSON.stringify({
  wrong: [wrong.response.status, wrong.error?.error.kind],
  output: ended.data?.output,
  nothing: [nothing.response.status, nothing.error?.error.kind],
}));
