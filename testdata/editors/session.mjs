// A session of the reference implementation of the protocol's client:
//
//	node session.mjs STARLING FOLDER
//
// It prints one line of JSON for each thing that it asks for. FOLDER has node_modules and review.star.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [starling, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "x.js"));
const lsp = require("vscode-languageserver-protocol/node");

const server = spawn(starling, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const connection = lsp.createProtocolConnection(new lsp.StreamMessageReader(server.stdout), new lsp.StreamMessageWriter(server.stdin));
const published = [];
let wake = () => {};
connection.onNotification(lsp.PublishDiagnosticsNotification.type, (p) => { published.push(p); wake(); });
connection.listen();

const tell = (what, value) => console.log(JSON.stringify({ what, value }));
const until = async (version) => {
  for (;;) {
    const p = published.find((p) => p.version === version);
    if (p) return p.diagnostics;
    await new Promise((go) => { wake = go; });
  }
};

const uri = pathToFileURL(join(folder, "review.star")).href;
const textDocument = { uri };
let text = readFileSync(join(folder, "review.star"), "utf8");
let version = 1;
const place = (behind) => {
  const before = text.slice(0, text.indexOf(behind) + behind.length).split("\n");
  return { line: before.length - 1, character: before.at(-1).length };
};
const edit = async (was, is) => {
  const from = text.indexOf(was);
  const at = (n) => { const b = text.slice(0, n).split("\n"); return { line: b.length - 1, character: b.at(-1).length }; };
  const range = { start: at(from), end: at(from + was.length) };
  text = text.slice(0, from) + is + text.slice(from + was.length);
  version++;
  connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri, version }, contentChanges: [{ range, text: is }] });
  return until(version);
};
const ask = (type, params) => connection.sendRequest(type, { textDocument, ...params });

const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {}, workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "x" }],
});
connection.sendNotification(lsp.InitializedNotification.type, {});
tell("server", initialized.serverInfo.name);
connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "starlark", version, text } });
tell("clean", (await until(version)).length);
tell("mistake", (await edit("d.choice", "d.chioce")).map((d) => [d.code, d.range.start]));
const actions = await ask(lsp.CodeActionRequest.type, { range: { start: place("d.ch"), end: place("d.ch") }, context: { diagnostics: [] } });
tell("action", actions.map((a) => a.title));
tell("mended", (await edit("d.chioce", "d.choice")).length);
const labels = async (behind) => (await ask(lsp.CompletionRequest.type, { position: place(behind) })).items.map((i) => i.label);
tell("completion", (await labels("if d.")).includes("choice"));
tell("hover", (await ask(lsp.HoverRequest.type, { position: place("    d = ga") })).contents.value.split("(")[0].split("\n")[1]);
tell("signature", (await ask(lsp.SignatureHelpRequest.type, { position: place("shout(") })).signatures[0].label);
tell("definition", (await ask(lsp.DefinitionRequest.type, { position: place("prompt = sho") })).uri.endsWith("words.star"));
tell("references", (await ask(lsp.ReferencesRequest.type, { position: place("prompt = sho"), context: { includeDeclaration: true } })).length);
tell("rename", Object.keys((await ask(lsp.RenameRequest.type, { position: place("prompt = sho"), newName: "cry" })).changes).length);
tell("symbols", (await ask(lsp.DocumentSymbolRequest.type, {})).map((s) => s.name));
tell("folds", (await ask(lsp.FoldingRangeRequest.type, {})).length > 2);
tell("tokens", (await ask(lsp.SemanticTokensRequest.type, {})).data.length % 5);
tell("hints", (await ask(lsp.InlayHintRequest.type, { range: { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } } })).map((h) => h.label));
tell("lenses", (await ask(lsp.CodeLensRequest.type, {})).map((l) => l.command.command));
await edit("r = ask(", "r=ask(");
tell("laid out", (await ask(lsp.DocumentFormattingRequest.type, { options: { tabSize: 4, insertSpaces: true } })).map((e) => e.newText));
await connection.sendRequest(lsp.ShutdownRequest.type);
connection.sendNotification(lsp.ExitNotification.type);
tell("exit", await new Promise((go) => server.on("exit", go)));
process.exit(0);
