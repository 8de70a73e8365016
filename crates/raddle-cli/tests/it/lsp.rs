//! `raddle lsp`: a client over standard streams, as an editor is one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::raddle;

/// An editor with one document at a time.
struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
    /// What was told without being asked, the newest last.
    told: Vec<Value>,
}

const PROGRAM: &str = "\
#INCLUDE \"course.module\"
PROTOCOL MESSAGE
  CASE
    number; INT
    stop
:
-- Sends a number.
PROC produce (VAL INT n, CHAN MESSAGE out!)
  SEQ
    out ! number; n
    out ! stop
:
PROC consume (CHAN MESSAGE in?, CHAN BYTE screen!)
  INITIAL BOOL going IS TRUE:
  WHILE going
    in ? CASE
      INT n:
      number; n
        out.int (n, 0, screen!)
      stop
        going := FALSE
:
PROC main (CHAN BYTE screen!)
  CHAN MESSAGE c:
  PAR
    produce (7, c!)
    consume (c?, screen!)
:
";

const URI: &str = "file:///nowhere/a%20b.occ";

impl Editor {
    fn start() -> Editor {
        let mut command = raddle();
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("it starts");
        let (to, from) = (server.stdin.take().expect("piped"), server.stdout.take().expect("piped"));
        let mut editor = Editor { server, to, from: BufReader::new(from), asked: 0, told: Vec::new() };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        editor.tell("initialized", json!({}));
        editor
    }

    fn with(text: &str) -> Editor {
        let mut editor = Editor::start();
        editor.open(URI, text);
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it reads");
        self.to.flush().expect("it reads");
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).expect("it writes"), 0, "it has ended");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a number"),
                None if line == "\r\n" => break,
                None => {}
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).expect("the message is whole");
        serde_json::from_slice(&bytes).expect("it is JSON")
    }

    /// The whole reply.
    fn reply(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let reply = self.reply(method, params);
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].clone()
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "occam", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// The next list of complaints about a document.
    fn complaints(&mut self, uri: &str) -> Vec<Value> {
        loop {
            let message = match self.told.is_empty() {
                true => self.receive(),
                false => self.told.remove(0),
            };
            if message["params"]["uri"] == uri {
                return message["params"]["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    /// A question about a place: of the `nth` time that the text has the word.
    fn about(&mut self, method: &str, text: &str, word: &str, nth: usize) -> Value {
        let params = at(text, word, nth);
        self.ask(method, params)
    }

    fn end(mut self) -> Option<i32> {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.server.wait().expect("it ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind.
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    json!({ "line": line, "character": before.rsplit('\n').next().map_or(0, |it| it.encode_utf16().count()) })
}

fn at(text: &str, word: &str, nth: usize) -> Value {
    let (offset, _) = text.match_indices(word).nth(nth).expect("the text has it");
    json!({ "textDocument": { "uri": URI }, "position": position(text, offset) })
}

/// The text with the changes of an answer.
fn changed(text: &str, edits: &Value) -> String {
    let offset = |it: &Value| {
        let (line, character) =
            (it["line"].as_u64().expect("a line"), it["character"].as_u64().expect("a place"));
        let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
        start + character as usize
    };
    let mut list: Vec<_> = edits.as_array().expect("a list").iter().collect();
    list.sort_by_key(|it| std::cmp::Reverse(offset(&it["range"]["start"])));
    let mut text = text.to_owned();
    for edit in list {
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().expect("a text"));
    }
    text
}

fn lines(list: &Value) -> Vec<u64> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|it| it["range"]["start"]["line"].as_u64().expect("one"))
        .collect()
}

#[test]
fn mistakes_are_told_as_one_types() {
    let mut editor = Editor::with(PROGRAM);
    assert_eq!(editor.complaints(URI), Vec::<Value>::new());
    // `7` becomes `x`, then what it was.
    for (version, new, wrong) in [(2, "x", 1), (3, "7", 0)] {
        let start = position(PROGRAM, PROGRAM.find("7, c!").expect("it is there"));
        let end =
            json!({ "line": start["line"], "character": start["character"].as_u64().expect("one") + 1 });
        editor.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "range": { "start": start, "end": end }, "text": new }],
            }),
        );
        let complaints = editor.complaints(URI);
        assert_eq!(complaints.len(), wrong, "{complaints:?}");
        if let Some(complaint) = complaints.first() {
            assert_eq!((&complaint["code"], &complaint["severity"]), (&"O0301".into(), &1.into()));
            assert_eq!(complaint["range"]["start"], start);
        }
    }
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn hover_shows_types_and_who_is_at_the_other_end() {
    let mut editor = Editor::with(PROGRAM);
    let mut hover = |word: &str, nth: usize| {
        let answer = editor.about("textDocument/hover", PROGRAM, word, nth);
        answer["contents"]["value"].as_str().unwrap_or("").to_owned()
    };
    let channel = hover("c:", 0);
    assert!(channel.contains("CHAN MESSAGE c\n"), "{channel}");
    assert!(channel.contains("Written by `produce` (line 26)"), "{channel}");
    assert!(channel.contains("Read by `consume` (line 27)"), "{channel}");
    let end = hover("in ?", 0);
    assert!(end.contains("CHAN MESSAGE in?") && end.contains("Written by `produce`"), "{end}");
    assert!(hover("screen!)\n  CHAN", 0).contains("CHAN BYTE screen!"));
    let call = hover("produce (7", 0);
    assert!(
        call.contains("PROC produce (VAL INT n, CHAN MESSAGE out!)") && call.contains("Sends a number."),
        "{call}"
    );
    assert!(hover("number; n\n        out", 0).contains("number; INT  -- of PROTOCOL MESSAGE"));
    assert!(hover("MESSAGE c", 0).contains("PROTOCOL MESSAGE\n  CASE\n    number; INT\n    stop\n:"));
    assert!(hover("out.int", 0).contains("PROC out.int (VAL INT n, "));
    assert_eq!(hover("WHILE", 0), "");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn declarations_and_uses_are_found() {
    let mut editor = Editor::with(PROGRAM);
    assert_eq!(lines(&editor.about("textDocument/definition", PROGRAM, "produce (7", 0)), [7]);
    assert_eq!(lines(&editor.about("textDocument/definition", PROGRAM, "stop\n        going", 0)), [4]);
    assert_eq!(
        editor.about("textDocument/definition", PROGRAM, "out.int", 0),
        json!([]),
        "it is in a library"
    );
    let mut uses = |word: &str, declared: bool| {
        let mut params = at(PROGRAM, word, 0);
        params["context"] = json!({ "includeDeclaration": declared });
        lines(&editor.ask("textDocument/references", params))
    };
    assert_eq!(uses("c:", true), [23, 25, 26]);
    assert_eq!(uses("c:", false), [25, 26]);
    assert_eq!(uses("stop", true), [4, 10, 19]);
    assert_eq!(uses("n, CHAN", true), [7, 9]);
    let outline = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<_> = outline.as_array().expect("a list").iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["MESSAGE", "produce", "consume", "main"]);
    assert_eq!(outline[1]["range"]["end"]["line"], 11);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn a_name_is_changed_everywhere_or_not_at_all() {
    let mut editor = Editor::with(PROGRAM);
    let mut rename = |word: &str, new: &str| {
        let mut params = at(PROGRAM, word, 0);
        params["newName"] = new.into();
        editor.reply("textDocument/rename", params)
    };
    let edits = rename("stop", "end.of.it")["result"]["changes"][URI].clone();
    assert_eq!(changed(PROGRAM, &edits), PROGRAM.replace("stop", "end.of.it"));
    let edits = rename("n, CHAN", "value")["result"]["changes"][URI].clone();
    let wanted = PROGRAM
        .replace("VAL INT n,", "VAL INT value,")
        .replace("number; n\n    out", "number; value\n    out");
    assert_eq!(changed(PROGRAM, &edits), wanted);
    for (word, new, why) in [
        ("n, CHAN", "out", "another thing"),
        ("produce", "consume", "another thing"),
        ("produce", "PAR", "one of occam's words"),
        ("produce", "a b", "a name is"),
        ("out.int", "x", "in a library"),
    ] {
        let reply = rename(word, new);
        let said = reply["error"]["message"].as_str().unwrap_or("");
        assert!(said.contains(why), "{word} to {new}: {reply}");
    }
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn what_can_stand_here_is_offered() {
    let text = "PROTOCOL P\n  CASE\n    go; INT\n    halt\n:\nDATA TYPE R\n  RECORD\n    INT left:\n:\n\
                PROC first (VAL INT count, CHAN P c!)\n  R r:\n  INT inner:\n  SEQ\n    c ! \n    r[\n:\n\
                PROC second ()\n  s\n:\n";
    let mut editor = Editor::with(text);
    let mut offered = |behind: &str| -> Vec<String> {
        let offset = text.find(behind).expect("it is there") + behind.len();
        let params = json!({ "textDocument": { "uri": URI }, "position": position(text, offset) });
        let list = editor.ask("textDocument/completion", params);
        let label = |it: &Value| it["label"].as_str().expect("a text").to_owned();
        list.as_array().expect("a list").iter().map(label).collect()
    };
    let list = offered("c ! ");
    assert_eq!(list[..2], ["go", "halt"]);
    for name in ["count", "inner", "r", "c", "first", "WHILE"] {
        assert_eq!(list.iter().filter(|it| *it == name).count(), usize::from(name != "first"), "{name}");
    }
    assert_eq!(offered("r["), ["left"]);
    let list = offered("()\n  s");
    assert!(
        list.contains(&"first".to_owned())
            && !list.contains(&"inner".to_owned())
            && !list.contains(&"r".to_owned())
    );
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn what_messages_advise_can_be_done() {
    for (wrong, right) in [
        ("  INT sum:\n  SEQ\n    Sum := 1\n", "  INT sum:\n  SEQ\n    sum := 1\n"),
        ("  INT x:\n  x = 1\n", "  INT x:\n  x := 1\n"),
        ("  INT x\n  x := 1\n", "  INT x:\n  x := 1\n"),
        ("  INT x:\n  SEQ\n    x := 1\n    x++\n", "  INT x:\n  SEQ\n    x := 1\n    x := x + 1\n"),
        ("  INT x:\n  x := 1 + 2 * 3\n", "  INT x:\n  x := (1 + 2) * 3\n"),
        ("  INT x:\n  x := INT 1.5(REAL32)\n", "  INT x:\n  x := INT TRUNC 1.5(REAL32)\n"),
        ("  PRI PAR\n    SKIP\n    SKIP\n", "  PAR\n    SKIP\n    SKIP\n"),
        ("  INT x:\n", "  INT x:\n  SKIP\n"),
        ("  skip\n", "  SKIP\n"),
    ] {
        let (text, wanted) = (format!("PROC p ()\n{wrong}:\n"), format!("PROC p ()\n{right}:\n"));
        let mut editor = Editor::with(&text);
        let range = json!({ "start": position(&text, 0), "end": position(&text, text.len()) });
        let params =
            json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
        let actions = editor.ask("textDocument/codeAction", params);
        let results: Vec<_> = actions
            .as_array()
            .expect("a list")
            .iter()
            .map(|action| changed(&text, &action["edit"]["changes"][URI]))
            .collect();
        assert!(results.contains(&wanted), "{wrong}: {actions}");
        assert_eq!(editor.end(), Some(0));
    }
    let text = "PROC main (CHAN BYTE screen!)\n  out.string (\"x\", 0, screen!)\n:\n";
    let mut editor = Editor::with(text);
    let range = json!({ "start": position(text, 30), "end": position(text, 40) });
    let params = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    let result = changed(text, &actions[0]["edit"]["changes"][URI]);
    assert_eq!(result, format!("#INCLUDE \"course.module\"\n{text}"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn layout_is_one_change_of_the_lines_that_differ() {
    let text = "PROC p (CHAN INT c!)\n  SEQ\n    c!1\n    c ! 2\n:\n";
    let mut editor = Editor::with(text);
    let params = json!({ "textDocument": { "uri": URI }, "options": {} });
    let edits = editor.ask("textDocument/formatting", params);
    assert_eq!(lines(&edits), [2]);
    assert_eq!(changed(text, &edits), text.replace("c!1", "c ! 1"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn an_included_document_is_seen_as_part_of_its_program() {
    let folder = std::env::temp_dir().join(format!("raddle-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let uri = |name: &str| format!("file://{}/{name}", folder.display());
    std::fs::write(folder.join("part.inc"), "PROC p (VAL INT n)\n  SKIP\n:\n").expect("written");
    let mut editor = Editor::start();
    editor
        .open(&uri("main.occ"), "VAL INT limit IS 3:\n#INCLUDE \"part.inc\"\nPROC main ()\n  p (limit)\n:\n");
    assert_eq!(editor.complaints(&uri("main.occ")), Vec::<Value>::new());
    // The editor's text counts, not what is on disk.
    editor.open(&uri("part.inc"), "PROC p (VAL BOOL n)\n  SKIP\n:\nVAL INT more IS limit:\n");
    let complaints = editor.complaints(&uri("main.occ"));
    assert_eq!((complaints.len(), &complaints[0]["code"]), (1, &"O0401".into()), "{complaints:?}");
    assert_eq!(editor.complaints(&uri("part.inc")), Vec::<Value>::new(), "`limit` is known there");
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri("part.inc") } }));
    assert_eq!(editor.complaints(&uri("main.occ")), Vec::<Value>::new());
    let position =
        json!({ "textDocument": { "uri": uri("main.occ") }, "position": { "line": 3, "character": 2 } });
    let place = editor.ask("textDocument/definition", position);
    assert_eq!(place[0]["uri"], uri("part.inc"));
    assert_eq!(editor.end(), Some(0));
    std::fs::remove_dir_all(folder).expect("it was there");
}

#[test]
fn what_is_no_question_is_answered_or_left_alone() {
    let mut editor = Editor::start();
    let reply = editor.reply("textDocument/somethingNew", json!({}));
    assert_eq!(reply["error"]["code"], -32601);
    for method in
        ["hover", "definition", "rename", "completion", "codeAction", "formatting", "documentSymbol"]
    {
        let reply = editor.reply(&format!("textDocument/{method}"), json!({ "position": 7 }));
        assert!(reply["result"].is_null(), "{method}: {reply}");
    }
    editor.tell("$/cancelRequest", json!({ "id": 1 }));
    editor.send(&json!([1, "two"]));
    write!(editor.to, "Content-Length: 2\r\n\r\n{{]").expect("it reads");
    editor.to.flush().expect("it reads");
    assert_eq!(editor.receive()["error"]["code"], -32700);
    assert_eq!(editor.end(), Some(0));
    for bytes in ["", "Content-Length: 10\r\n\r\n{}", "hello\r\n\r\n"] {
        let mut command = raddle();
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(bytes.as_bytes()).expect("it reads");
        let wanted = if bytes.is_empty() { 1 } else { 126 };
        assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(wanted), "{bytes:?}");
    }
}

#[test]
fn half_a_program_is_no_trouble() {
    // Each beginning of a program, as it is while one types, and questions at its end.
    let mut editor = Editor::with("");
    for (version, end) in (0..PROGRAM.len()).step_by(7).enumerate() {
        editor.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "text": &PROGRAM[..end] }],
            }),
        );
        let place = json!({ "textDocument": { "uri": URI }, "position": position(PROGRAM, end) });
        for method in ["hover", "completion", "documentSymbol", "references"] {
            editor.ask(&format!("textDocument/{method}"), place.clone());
        }
    }
    assert_eq!(editor.end(), Some(0));
}
