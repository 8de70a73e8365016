//! Owns: the grammar of processes on one line, SEQ, PAR, WHILE, CLAIM, and bodies.
//! May use: `ast`, `diag`, `lex::token`, `source`.
//! Never: gives up on a block because one of its lines cannot be read.

use super::{Failed, Parsed, Parser};
use crate::ast::{
    ConstructKind, Direction, ExprId, ExprKind, InputItem, InputKind, OutputItem, ProcessId, ProcessKind,
};
use crate::diag::{Code, Diagnostic};
use crate::lex::TokenKind;
use crate::source::Span;

impl Parser<'_> {
    /// The block under a heading: specifications and one process. `what` names the heading in messages.
    pub(super) fn body(&mut self, what: &str) -> ProcessId {
        if self.kind() != TokenKind::Indent {
            let complaint =
                Diagnostic::new(Code::MissingBody, self.last_span(), format!("this {what} has no body"));
            self.diagnostics.push(
                complaint
                    .help("it stands two columns further right; where nothing is to be done, it is SKIP"),
            );
            // What stands in the next line is the body, if it can be nothing else.
            return match self.at_process(what) {
                true => self.process(),
                false => self.new_process(ProcessKind::Error, self.last_span()),
            };
        }
        self.bump();
        let start = self.span();
        let mut body = self.scoped_process();
        if !matches!(self.kind(), TokenKind::Outdent | TokenKind::End) {
            self.more_than_one(what, body);
            let mut list = vec![body];
            self.processes(&mut list);
            let kind = ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, body: list };
            body = self.new_process(kind, start);
        }
        self.eat(TokenKind::Outdent);
        body
    }

    /// Processes up to the end of their block.
    fn processes(&mut self, list: &mut Vec<ProcessId>) {
        while !matches!(self.kind(), TokenKind::Outdent | TokenKind::End) {
            list.push(self.scoped_process());
        }
    }

    /// { specification } process
    pub(super) fn scoped_process(&mut self) -> ProcessId {
        let start = self.span();
        if !self.at_spec() {
            return self.process();
        }
        let types = self.type_scope.len();
        let mut specs = Vec::new();
        while self.at_spec() {
            specs.push(self.spec());
        }
        let body = if matches!(self.kind(), TokenKind::Outdent | TokenKind::End | TokenKind::Result) {
            let complaint = Diagnostic::new(
                Code::MissingBody,
                self.last_span(),
                "no process follows these specifications",
            );
            let complaint = complaint.help("write SKIP if nothing is to be done");
            self.diagnostics.push(match self.sources.place(start.lo) {
                Some(place) => {
                    let (indent, end) = (" ".repeat(place.column as usize - 1), self.last_text().hi);
                    complaint.fix("write SKIP", Span::new(end, end), format!("\n{indent}SKIP"))
                }
                None => complaint,
            });
            self.new_process(ProcessKind::Error, self.last_span())
        } else {
            self.process()
        };
        self.end_type_scope(types);
        self.new_process(ProcessKind::Block { specs, body }, start)
    }

    /// One process, with the complaint and an `Error` node where it cannot be read.
    pub(super) fn process(&mut self) -> ProcessId {
        self.give_up();
        let (start, level) = (self.span(), self.level);
        if self.kind() == TokenKind::End {
            return self.new_process(ProcessKind::Error, start);
        }
        match self.deeper(Self::process_inner) {
            Ok((kind, end)) => self.new_process(kind, start.to(end)),
            Err(Failed) => {
                self.recover(level);
                self.new_process(ProcessKind::Error, start)
            }
        }
    }

    fn process_inner(&mut self) -> Parsed<(ProcessKind, Span)> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Skip | TokenKind::Stop => {
                let kind =
                    if self.bump().kind == TokenKind::Skip { ProcessKind::Skip } else { ProcessKind::Stop };
                self.end_of_line()?;
                kind
            }
            TokenKind::Seq | TokenKind::Par => self.construct()?,
            TokenKind::Pri => {
                self.bump();
                match self.kind() {
                    TokenKind::Par => self.construct()?,
                    TokenKind::Alt => ProcessKind::Alt(self.alt(true)?),
                    _ => return self.unexpected("PAR or ALT"),
                }
            }
            TokenKind::If => ProcessKind::If(self.if_process()?),
            TokenKind::Alt => ProcessKind::Alt(self.alt(false)?),
            TokenKind::Case => self.case()?,
            TokenKind::While => {
                self.bump();
                let condition = self.expr()?;
                self.end_of_line()?;
                ProcessKind::While(condition, self.body("WHILE"))
            }
            TokenKind::Claim => {
                self.bump();
                let mut end = self.element()?;
                for (sign, direction) in
                    [(TokenKind::Bang, Direction::Output), (TokenKind::Question, Direction::Input)]
                {
                    if self.eat(sign) {
                        end = self.new_expr(ExprKind::End(end, direction), span.to(self.last_span()));
                    }
                }
                self.end_of_line()?;
                ProcessKind::Claim { end, body: self.body("CLAIM") }
            }
            TokenKind::Forking | TokenKind::Fork | TokenKind::Sync | TokenKind::Resign => self.dynamic()?,
            TokenKind::Suspend => {
                self.bump();
                self.end_of_line()?;
                ProcessKind::Suspend
            }
            TokenKind::Placed | TokenKind::Processor => self.placed()?,
            TokenKind::Asm | TokenKind::Guy => {
                let message = "a transputer's assembly code is not run: Raddle has no registers of its kind";
                return self.fail(Code::NotSupported, span, message.to_owned());
            }
            _ => self.action()?,
        };
        Ok((kind, self.line_end_of(span)))
    }

    /// FORKING, FORK, SYNC, RESIGN.
    fn dynamic(&mut self) -> Parsed<ProcessKind> {
        Ok(match self.kind() {
            TokenKind::Forking => {
                self.bump();
                self.end_of_line()?;
                ProcessKind::Forking(self.body("FORKING"))
            }
            TokenKind::Fork => {
                self.bump();
                let name = self.ident("the PROC that is forked")?;
                let arguments = self.arguments()?;
                self.end_of_line()?;
                ProcessKind::Fork { name, arguments }
            }
            TokenKind::Sync => {
                self.bump();
                let barrier = self.element()?;
                self.end_of_line()?;
                ProcessKind::Sync(barrier)
            }
            TokenKind::Resign => {
                self.bump();
                let barrier = self.element()?;
                self.end_of_line()?;
                ProcessKind::Resign { barrier, body: self.body("RESIGN") }
            }
            _ => return self.unexpected("a process"),
        })
    }

    /// PLACED PAR, and PROCESSOR in it.
    fn placed(&mut self) -> Parsed<ProcessKind> {
        Ok(match self.kind() {
            TokenKind::Placed => {
                self.bump();
                if self.kind() != TokenKind::Par {
                    return self.unexpected("PAR");
                }
                match self.construct()? {
                    ProcessKind::Construct { replicator, body, .. } => {
                        ProcessKind::Construct { order: ConstructKind::PlacedPar, replicator, body }
                    }
                    enrolls => enrolls,
                }
            }
            TokenKind::Processor => {
                self.bump();
                // A name and the kind of processor would be a conversion to a type of that name.
                let is_named = self.kind() == TokenKind::Name
                    && (self.peek(1), self.peek(2)) == (TokenKind::Name, TokenKind::Newline);
                let number = if is_named { self.element()? } else { self.expr()? };
                // The kind of processor.
                self.eat(TokenKind::Name);
                self.end_of_line()?;
                let body = self.body("PROCESSOR");
                self.ast.processors.insert(body.0, number);
                ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, body: vec![body] }
            }
            _ => return self.unexpected("PLACED PAR"),
        })
    }

    /// The span of a process is its first line; composite ones end at their heading word.
    fn line_end_of(&self, start: Span) -> Span {
        let last = self.last_span();
        if last.lo >= start.lo
            && last.hi - start.lo < 200
            && self.tokens[self.at - 1].kind == TokenKind::Newline
        {
            last
        } else {
            start
        }
    }

    pub(super) fn end_of_line(&mut self) -> Parsed<()> {
        if self.eat(TokenKind::Newline) { Ok(()) } else { self.unexpected("the end of the line") }
    }

    /// `construct = ( SEQ | PAR ) [ replicator ], and below it processes (one, if replicated)`
    fn construct(&mut self) -> Parsed<ProcessKind> {
        let prioritised = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Pri;
        let word = self.bump().kind;
        let order = match (word, prioritised) {
            (TokenKind::Seq, _) => ConstructKind::Seq,
            (_, false) => ConstructKind::Par,
            (_, true) => ConstructKind::PriPar,
        };
        let start = self.last_span();
        let is_par = order != ConstructKind::Seq;
        let enrolls = |kind| is_par && matches!(kind, TokenKind::Enroll | TokenKind::Barrier);
        let replicated = self.kind() != TokenKind::Newline && !enrolls(self.kind());
        let replicator = if replicated { Some(Box::new(self.replicator()?)) } else { None };
        let barriers = if enrolls(self.kind()) { self.enrolled()? } else { Vec::new() };
        self.end_of_line()?;
        let body = match replicated {
            true => vec![self.body(if is_par { "PAR" } else { "SEQ" })],
            false => self.branches(),
        };
        let kind = ProcessKind::Construct { order, replicator, body };
        if barriers.is_empty() {
            return Ok(kind);
        }
        let par = self.new_process(kind, start);
        Ok(ProcessKind::Enroll { barriers, par })
    }

    fn branches(&mut self) -> Vec<ProcessId> {
        let mut body = Vec::new();
        if self.eat(TokenKind::Indent) {
            self.processes(&mut body);
            self.eat(TokenKind::Outdent);
        }
        body
    }

    /// ( ENROLL | BARRIER ) barrier { "," barrier }
    fn enrolled(&mut self) -> Parsed<Vec<ExprId>> {
        self.bump();
        let mut barriers = vec![self.element()?];
        while self.eat(TokenKind::Comma) {
            barriers.push(self.element()?);
        }
        Ok(barriers)
    }

    /// action = assignment | input | output | call
    fn action(&mut self) -> Parsed<ProcessKind> {
        if self.kind() == TokenKind::Name && self.peek(1) == TokenKind::Open {
            let name = self.ident("a name")?;
            let arguments = self.arguments()?;
            if self.kind() == TokenKind::Newline {
                self.end_of_line()?;
                return Ok(ProcessKind::Call { name, arguments });
            }
            return self.behind_a_call(name);
        }
        if !matches!(self.kind(), TokenKind::Name | TokenKind::OpenSquare) {
            return self.unexpected("a process");
        }
        let first = self.element()?;
        self.no_increment(first)?;
        match self.kind() {
            TokenKind::Comma | TokenKind::Assign => {
                let mut targets = vec![first];
                while self.eat(TokenKind::Comma) {
                    targets.push(self.element()?);
                }
                self.expect(TokenKind::Assign)?;
                let values = self.exprs()?;
                self.end_of_line()?;
                Ok(ProcessKind::Assign { targets, values })
            }
            TokenKind::Question => {
                let (kind, case) = self.input(true)?;
                let kind = if case { InputKind::Case(self.variants(false)?) } else { kind };
                Ok(ProcessKind::Input { channel: first, kind })
            }
            TokenKind::QuestionTwo => self.extended(first),
            TokenKind::Bang => {
                self.bump();
                let mut items = vec![self.output_item()?];
                while self.eat(TokenKind::Semi) {
                    items.push(self.output_item()?);
                }
                self.end_of_line()?;
                Ok(ProcessKind::Output { channel: first, items })
            }
            _ => self.no_action(first),
        }
    }

    /// What follows a channel, from the `??` on: an input, and below it what is done before who outputs goes on, and
    /// perhaps what is done behind that.
    pub(super) fn extended(&mut self, channel: ExprId) -> Parsed<ProcessKind> {
        let start = self.span();
        let (kind, case) = self.input(true)?;
        if case {
            let during = self.new_process(ProcessKind::Skip, start);
            let kind = InputKind::Case(self.variants(true)?);
            return Ok(ProcessKind::Extended { channel, kind, during, after: None });
        }
        let (during, after) = self.two_bodies("extended input");
        Ok(ProcessKind::Extended { channel, kind, during, after })
    }

    /// A body of one process, or of two.
    pub(super) fn two_bodies(&mut self, what: &str) -> (ProcessId, Option<ProcessId>) {
        if self.kind() != TokenKind::Indent {
            return (self.body(what), None);
        }
        self.bump();
        let first = self.scoped_process();
        let at_end = |parser: &Self| matches!(parser.kind(), TokenKind::Outdent | TokenKind::End);
        let second = if at_end(self) { None } else { Some(self.scoped_process()) };
        if !at_end(self) {
            self.more_than_one(what, first);
            self.branches_left();
        }
        self.eat(TokenKind::Outdent);
        (first, second)
    }

    fn branches_left(&mut self) {
        let mut ignored = Vec::new();
        self.processes(&mut ignored);
    }

    /// What follows a channel, from the `?` to the end of the line; `true` when variants follow below.
    pub(super) fn input(&mut self, variants: bool) -> Parsed<(InputKind, bool)> {
        if !self.eat(TokenKind::QuestionTwo) {
            self.expect(TokenKind::Question)?;
        }
        if self.eat(TokenKind::After) {
            let time = self.expr()?;
            self.end_of_line()?;
            return Ok((InputKind::After(time), false));
        }
        if !self.eat(TokenKind::Case) {
            let items = self.input_items()?;
            self.end_of_line()?;
            return Ok((InputKind::Items(items), false));
        }
        if variants && self.eat(TokenKind::Newline) {
            return Ok((InputKind::Case(Vec::new()), true));
        }
        let tag = self.ident("a tag")?;
        let items = if self.eat(TokenKind::Semi) { self.input_items()? } else { Vec::new() };
        self.end_of_line()?;
        Ok((InputKind::Tagged(tag, items), false))
    }

    pub(super) fn input_items(&mut self) -> Parsed<Vec<InputItem>> {
        let mut items = vec![self.input_item()?];
        while self.eat(TokenKind::Semi) {
            items.push(self.input_item()?);
        }
        Ok(items)
    }

    fn input_item(&mut self) -> Parsed<InputItem> {
        let first = self.element()?;
        if !self.eat(TokenKind::Colons) {
            return Ok(InputItem { count: None, target: first });
        }
        Ok(InputItem { count: Some(first), target: self.element()? })
    }

    fn output_item(&mut self) -> Parsed<OutputItem> {
        let first = self.expr()?;
        if !self.eat(TokenKind::Colons) {
            return Ok(OutputItem { count: None, value: first });
        }
        Ok(OutputItem { count: Some(first), value: self.expr()? })
    }
}
