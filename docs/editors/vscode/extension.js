// Starts `raddle lsp` and lets it answer.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function () {
  const settings = workspace.getConfiguration("raddle");
  const server = { command: settings.get("command"), args: ["lsp"] };
  client = new LanguageClient("raddle", "occam (Raddle)", server, {
    documentSelector: [{ language: "occam" }],
    initializationOptions: { include: settings.get("include"), define: settings.get("define") },
    synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{occ,inc,module}") },
  });
  return client.start();
};

exports.deactivate = function () {
  return client && client.stop();
};
