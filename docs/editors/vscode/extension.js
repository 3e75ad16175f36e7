// The client of `starling lsp` for VS Code, with the commands that the server's lenses ask for.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

const program = () => vscode.workspace.getConfiguration("starling").get("path", "starling");

// inTerminal runs the program where its output can be seen and its gates be answered. Arguments are
// passed as they are, without a shell.
function inTerminal(name, args) {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  vscode.window.createTerminal({ name, shellPath: program(), shellArgs: args, cwd: folder }).show();
}

const active = () => vscode.window.activeTextEditor?.document.uri.fsPath;

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("starling.run", (path) => inTerminal("starling run", ["run", path ?? active()])),
    vscode.commands.registerCommand("starling.test", (path) => inTerminal("starling test", ["test", path ?? active()])),
  );
  client = new LanguageClient("starling", "Starling", { command: program(), args: ["lsp"] }, { documentSelector: [{ language: "starling" }, { pattern: "**/starling.toml" }] });
  await client.start();
};

exports.deactivate = () => client?.stop();
