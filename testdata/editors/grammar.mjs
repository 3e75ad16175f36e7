// What the grammar of the VS Code extension makes of a script, with the editor's own tokenizer:
//
//	node grammar.mjs GRAMMAR SCRIPT FOLDER
//
// It prints a line for each word that has a name. FOLDER has node_modules.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const [grammar, script, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "x.js"));
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

await oniguruma.loadWASM(readFileSync(join(dirname(require.resolve("vscode-oniguruma")), "onig.wasm")).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({ createOnigScanner: (p) => new oniguruma.OnigScanner(p), createOnigString: (s) => new oniguruma.OnigString(s) }),
  loadGrammar: async () => textmate.parseRawGrammar(readFileSync(grammar, "utf8"), grammar),
});
const loaded = await registry.loadGrammar("source.starling");
let state = textmate.INITIAL;
for (const line of readFileSync(script, "utf8").split("\n")) {
  const { tokens, ruleStack } = loaded.tokenizeLine(line, state);
  state = ruleStack;
  for (const t of tokens) {
    const word = line.slice(t.startIndex, t.endIndex).trim();
    if (word && t.scopes.length > 1) console.log(word, t.scopes.slice(1).join(" "));
  }
}
