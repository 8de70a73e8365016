//! Owns: `raddle lsp`: the conversation with an editor, in the language server protocol, on the standard streams.
//! May use: `refusal`, `serde_json`.
//! Never: writes a file; an editor does.
//!
//! One thread reads, so that it is known whether another message waits: what is wrong is told when none does. The
//! other answers one message after the other; a look at a program takes milliseconds.

mod answer;
mod complete;
mod fix;
mod hover;
mod place;
mod seen;
mod state;
mod wire;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use serde_json::{Value, json};

use crate::refusal::Error;
use state::Documents;
use wire::Incoming;

pub(crate) const LSP_HELP: &str = "\
An editor starts it; docs/EDITORS.md says how. It speaks the language server protocol on standard input and output.

Exit codes:
    0  the editor said `shutdown` and `exit`
    1  it said only `exit`, or went away
    2  the command line is wrong
  126  what comes is no such protocol";

/// `raddle lsp`.
#[derive(clap::Args)]
pub(crate) struct Lsp {
    /// Look for the files of #INCLUDE and #USE here too, after the folder of the file that names them
    #[arg(short = 'I', value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Define a name for #IF DEFINED (NAME)
    #[arg(short = 'D', value_name = "NAME")]
    defines: Vec<String>,

    /// Standard input and output; there is nothing else, and editors say so
    #[arg(long, hide = true)]
    stdio: bool,
}

/// How the conversation ended.
pub(crate) enum Conversation {
    Closed,
    BrokenOff,
    Trouble(Error),
}

/// The protocol's number for a method that is not known.
const METHOD_NOT_FOUND: i32 = -32601;
/// For what is no JSON.
const PARSE_ERROR: i32 = -32700;
/// For what comes after `shutdown`.
const INVALID_REQUEST: i32 = -32600;
/// For what cannot be done.
const REQUEST_FAILED: i32 = -32803;

struct Server {
    documents: Documents,
    closing: bool,
}

impl Lsp {
    /// Answers until the editor is done.
    pub(crate) fn carry_out(self) -> Conversation {
        let (send, receive) = mpsc::sync_channel(64);
        let reader = std::thread::Builder::new().name("lsp reader".to_owned()).spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let incoming = wire::read(&mut input);
                let last = !matches!(incoming, Ok(Incoming::Message(_) | Incoming::Garbage(_)));
                if send.send(incoming).is_err() || last {
                    return;
                }
            }
        });
        if let Err(error) = reader {
            return Conversation::Trouble(Error::CannotRun(format!("could not begin a thread: {error}")));
        }
        let mut documents = Documents::default();
        documents.folders = self.folders;
        documents.options.defines = self.defines;
        match (Server { documents, closing: false }).converse(&receive) {
            Ok(true) => Conversation::Closed,
            Ok(false) => Conversation::BrokenOff,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Conversation::BrokenOff,
            Err(error) => Conversation::Trouble(Error::CannotRun(format!("the conversation fails: {error}"))),
        }
    }
}

impl Server {
    /// Whether the editor closed it as it should.
    fn converse(&mut self, receive: &Receiver<io::Result<Incoming>>) -> io::Result<bool> {
        loop {
            let incoming = match receive.try_recv() {
                Ok(incoming) => incoming,
                Err(_) => {
                    for params in self.documents.news() {
                        tell("textDocument/publishDiagnostics", params)?;
                    }
                    match receive.recv() {
                        Ok(incoming) => incoming,
                        Err(_) => return Ok(false),
                    }
                }
            };
            let message = match incoming? {
                Incoming::Message(message) => message,
                Incoming::Garbage(error) => {
                    say(json!({ "id": null, "error": { "code": PARSE_ERROR, "message": error } }))?;
                    continue;
                }
                Incoming::End => return Ok(false),
            };
            let method = message["method"].as_str().unwrap_or("");
            if method == "exit" {
                return Ok(self.closing);
            }
            let params = &message["params"];
            match message.get("id") {
                Some(id) if !method.is_empty() => {
                    let mut reply = match self.request(method, params) {
                        Ok(result) => json!({ "result": result }),
                        Err((code, text)) => json!({ "error": { "code": code, "message": text } }),
                    };
                    reply["id"] = id.clone();
                    say(reply)?;
                }
                // An answer: nothing was asked.
                Some(_) => {}
                None => self.notice(method, params),
            }
        }
    }

    fn notice(&mut self, method: &str, params: &Value) {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or("");
        match method {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or("");
                self.documents.open(uri, text, document["version"].clone());
            }
            "textDocument/didChange" => {
                let changes = params["contentChanges"].as_array().map_or(&[][..], Vec::as_slice);
                self.documents.change(uri, changes, document["version"].clone());
            }
            "textDocument/didClose" => self.documents.close(uri),
            "workspace/didChangeWatchedFiles" | "textDocument/didSave" => self.documents.forget(),
            _ => {}
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, (i32, String)> {
        if self.closing {
            return Err((INVALID_REQUEST, "it is being shut down".to_owned()));
        }
        let documents = &mut self.documents;
        let answer = match method {
            "initialize" => Some(self.begin(params)),
            "shutdown" => {
                self.closing = true;
                None
            }
            "textDocument/hover" => answer::hover(documents, params),
            "textDocument/definition" => answer::definition(documents, params),
            "textDocument/references" => answer::references(documents, params),
            "textDocument/documentHighlight" => answer::highlights(documents, params),
            "textDocument/documentSymbol" => answer::symbols(documents, params),
            "textDocument/formatting" => answer::formatted(documents, params),
            "textDocument/completion" => answer::asked(documents, params).and_then(|(uri, offset)| {
                let (seen, file) = documents.seen(&uri)?;
                Some(complete::list(seen, file, offset))
            }),
            "textDocument/prepareRename" => answer::renamable(documents, params),
            "textDocument/rename" => {
                return answer::renamed(documents, params).map_err(|text| (REQUEST_FAILED, text));
            }
            "textDocument/codeAction" => fix::actions(documents, params),
            _ => return Err((METHOD_NOT_FOUND, format!("`{method}` is not known here"))),
        };
        Ok(answer.unwrap_or(Value::Null))
    }

    fn begin(&mut self, params: &Value) -> Value {
        let wanted = &params["initializationOptions"];
        let list = |name: &str| -> Vec<String> {
            let list = wanted[name].as_array().map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
        };
        self.documents.folders.extend(list("include").into_iter().map(PathBuf::from));
        self.documents.options.defines.extend(list("define"));
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": { "openClose": true, "change": 2, "save": true },
                "hoverProvider": true,
                "definitionProvider": true,
                "referencesProvider": true,
                "documentHighlightProvider": true,
                "documentSymbolProvider": true,
                "documentFormattingProvider": true,
                "completionProvider": { "triggerCharacters": ["[", "!", "\""] },
                "renameProvider": { "prepareProvider": true },
                "codeActionProvider": { "codeActionKinds": ["quickfix"] },
            },
            "serverInfo": { "name": "raddle", "version": env!("CARGO_PKG_VERSION") },
        })
    }
}

fn tell(method: &str, params: Value) -> io::Result<()> {
    say(json!({ "method": method, "params": params }))
}

fn say(mut message: Value) -> io::Result<()> {
    message["jsonrpc"] = "2.0".into();
    let mut out = io::stdout().lock();
    wire::write(&mut out, &message).and_then(|()| out.flush())
}
