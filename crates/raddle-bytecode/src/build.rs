//! Owns: how a compiler makes a [`Module`].
//! May use: `insn`, `module`, `names`, `table`.
//! Never: checks what `verify` checks.
//!
//! ```
//! use raddle_bytecode::build::ModuleBuilder;
//! let mut module = ModuleBuilder::new();
//! let main = module.declare("main");
//! let mut code = module.function();
//! let (again, screen) = (code.label(), 4);
//! code.ldi(screen, 20);
//! code.ldi(2, i32::from(b'*'));
//! code.ldi(3, 10);
//! code.bind(again);
//! code.output(screen, 2, 1);
//! code.add_i(3, 3, -1);
//! code.jnz(3, again);
//! code.end();
//! module.define(main, code, 5);
//! module.entry(main);
//! assert_eq!(module.finish().code.len(), 7);
//! ```

use crate::for_each_op;
use crate::insn::{Insn, Op};
use crate::module::{End, FOREIGN, FOREIGN_STEPS, ForeignRoutine, Function, Line, Module, Site, Watched};
use crate::names::printable;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

/// A place in a function's code that jumps can name before it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(u32);

/// The number of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

const UNBOUND: u32 = u32::MAX;

/// The code of one function while it is written.
#[derive(Clone, Debug, Default)]
pub struct Code {
    code: Vec<Insn>,
    labels: Vec<u32>,
    jumps: Vec<(u32, Label)>,
    sites: Vec<(u32, Site)>,
    lines: Vec<Line>,
    ends: Vec<End>,
}

macro_rules! method {
    ($name:ident $op:ident none $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self) {
            self.push(Insn::new(Op::$op, 0, 0, 0));
        }
    };
    ($name:ident $op:ident a $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16) {
            self.push(Insn::new(Op::$op, a, 0, 0));
        }
    };
    ($name:ident $op:ident ab $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, b: u16) {
            self.push(Insn::new(Op::$op, a, b, 0));
        }
    };
    ($name:ident $op:ident abc $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, b: u16, c: u16) {
            self.push(Insn::new(Op::$op, a, b, c));
        }
    };
    ($name:ident $op:ident abi $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Panics
        /// If the constant fits neither `i16` nor `u16`.
        pub fn $name(&mut self, a: u16, b: u16, imm: i32) {
            self.push(Insn::new(Op::$op, a, b, half(imm)));
        }
    };
    ($name:ident $op:ident ai $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, imm: i32) {
            self.push(Insn::with_imm(Op::$op, a, imm));
        }
    };
    ($name:ident $op:ident i $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, imm: i32) {
            self.push(Insn::with_imm(Op::$op, 0, imm));
        }
    };
    ($name:ident $op:ident l $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, to: Label) {
            self.push_jump(Insn::new(Op::$op, 0, 0, 0), to);
        }
    };
    ($name:ident $op:ident al $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, to: Label) {
            self.push_jump(Insn::new(Op::$op, a, 0, 0), to);
        }
    };
    ($name:ident $op:ident abl $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, b: u16, to: Label) {
            self.push_jump(Insn::new(Op::$op, a, b, 0), to);
        }
    };
    ($name:ident $op:ident ail $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Panics
        /// If the constant does not fit `i16`.
        pub fn $name(&mut self, a: u16, imm: i32, to: Label) {
            let imm = i16::try_from(imm).expect("a constant of 16 bits") as u16;
            self.push_jump(Insn::new(Op::$op, a, imm, 0), to);
        }
    };
    ($name:ident $op:ident site $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, callee: FunctionId, base: u16) {
            self.push_site(Insn::with_imm(Op::$op, 0, 0), callee, base);
        }
    };
    ($name:ident $op:ident asite $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, a: u16, callee: FunctionId) {
            self.push_site(Insn::with_imm(Op::$op, a, 0), callee, 0);
        }
    };
}

macro_rules! methods {
    ($(
        $variant:ident = $number:literal $name:ident $form:ident [$a:literal $b:literal $c:literal] $effect:expr,
        $doc:literal;
    )*) => {
        /// One method for each instruction.
        impl Code {
            $(method!($name $variant $form $doc);)*
        }
    };
}
for_each_op!(methods);

fn half(imm: i32) -> u16 {
    assert!(
        (-0x8000..0x10000).contains(&imm),
        "{imm} does not fit into the 16 bits of an instruction's constant"
    );
    imm as u16
}

impl Code {
    /// The number of the next instruction within the function.
    pub fn here(&self) -> u32 {
        self.code.len() as u32
    }

    /// Appends an instruction.
    pub fn push(&mut self, insn: Insn) {
        self.code.push(insn);
    }

    /// Appends a jump of whatever kind.
    pub fn push_jump(&mut self, insn: Insn, to: Label) {
        self.jumps.push((self.here(), to));
        self.code.push(insn);
    }

    fn push_site(&mut self, insn: Insn, callee: FunctionId, base: u16) {
        let at = self.here();
        self.sites.push((at, Site { callee: callee.0, base: u32::from(base), at }));
        self.code.push(insn);
    }

    /// A label that is not bound yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label(self.labels.len() as u32 - 1)
    }

    /// The label stands for the next instruction.
    ///
    /// # Panics
    /// If it is bound already.
    pub fn bind(&mut self, label: Label) {
        let here = self.here();
        let place = &mut self.labels[label.0 as usize];
        assert_eq!(*place, UNBOUND, "a label is bound twice");
        *place = here;
    }

    /// The next instructions stem from there. `file` is a string's number, line and column count from 1.
    pub fn place(&mut self, file: u32, line: u32, column: u32) {
        let next = Line { at: self.here(), file, line, column };
        match self.lines.last_mut() {
            Some(last) if last.at == next.at => *last = next,
            Some(last) if (last.file, last.line, last.column) == (file, line, column) => {}
            _ => self.lines.push(next),
        }
    }

    /// Between two instructions of this function (`from..to`) a process uses an end of a channel; see [`End`].
    pub fn uses_end(&mut self, end: End) {
        self.ends.push(end);
    }

    fn resolve(&mut self) {
        for &(at, label) in &self.jumps {
            let to = self.labels[label.0 as usize];
            assert_ne!(to, UNBOUND, "a jump to a label that was never bound");
            let insn = &mut self.code[at as usize];
            *insn = insn.to(to as i32 - at as i32 - 1);
        }
    }
}

/// A module while it is made.
#[derive(Debug, Default)]
pub struct ModuleBuilder {
    module: Module,
    strings: BTreeMap<String, u32>,
    pool: BTreeMap<u64, u32>,
    defined: Vec<Option<(Code, u32)>>,
}

impl ModuleBuilder {
    /// Nothing yet.
    pub fn new() -> ModuleBuilder {
        ModuleBuilder::default()
    }

    /// The number of a string.
    pub fn string(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.strings.get(text) {
            return number;
        }
        let number = self.module.strings.len() as u32;
        self.module.strings.push(printable(text));
        self.strings.insert(text.to_string(), number);
        number
    }

    /// The number of a 64-bit constant, for `pool`.
    pub fn constant(&mut self, value: u64) -> i32 {
        let next = self.module.pool.len() as u32;
        let number = *self.pool.entry(value).or_insert(next);
        if number == next {
            self.module.pool.push(value);
        }
        number as i32
    }

    /// The number of something to be watched, for `watch`.
    pub fn watched(&mut self, watched: Watched) -> i32 {
        let found = self.module.watched.iter().position(|other| *other == watched);
        found.unwrap_or_else(|| {
            self.module.watched.push(watched);
            self.module.watched.len() - 1
        }) as i32
    }

    /// The number of a foreign routine's first call, for `host`. [`ForeignRoutine`] says what the strings are.
    pub fn foreign(&mut self, name: &str, parameters: &str) -> i32 {
        let routine = ForeignRoutine { name: self.string(name), parameters: self.string(parameters) };
        let found = self.module.foreign.iter().position(|other| *other == routine);
        let at = found.unwrap_or_else(|| {
            self.module.foreign.push(routine);
            self.module.foreign.len() - 1
        });
        FOREIGN + FOREIGN_STEPS * at as i32
    }

    /// Looks for foreign routines in that library, too.
    pub fn library(&mut self, name: &str) {
        let name = self.string(name);
        if !self.module.libraries.contains(&name) {
            self.module.libraries.push(name);
        }
    }

    /// Puts constant bytes into the data, at a multiple of four; gives their place, for `data`.
    pub fn data(&mut self, bytes: &[u8]) -> i32 {
        let data = &mut self.module.data;
        data.resize(data.len().next_multiple_of(4), 0);
        let at = data.len();
        data.extend_from_slice(bytes);
        at as i32
    }

    /// A function that is defined later; it can be called at once.
    pub fn declare(&mut self, name: &str) -> FunctionId {
        let name = self.string(name);
        let number = self.module.functions.len() as u32;
        self.module.functions.push(Function { name, ..Function::default() });
        self.defined.push(None);
        FunctionId(number)
    }

    /// Empty code for a function.
    pub fn function(&self) -> Code {
        Code::default()
    }

    /// Gives a function its code. `slots` is the size of its frame, windows of what it calls included.
    ///
    /// # Panics
    /// If a jump goes to a label that was never bound.
    pub fn define(&mut self, id: FunctionId, mut code: Code, slots: u32) {
        code.resolve();
        self.defined[id.0 as usize] = Some((code, slots));
    }

    /// The size of the frame of a defined function.
    pub fn slots_of(&self, id: FunctionId) -> Option<u32> {
        self.defined[id.0 as usize].as_ref().map(|(_, slots)| *slots)
    }

    /// Says which function is the program.
    pub fn entry(&mut self, id: FunctionId) {
        self.module.entry = id.0;
    }

    /// The module. A function that was never defined stops its process.
    pub fn finish(mut self) -> Module {
        for (number, defined) in self.defined.iter_mut().enumerate() {
            let (code, slots) = defined
                .take()
                .unwrap_or_else(|| (Code { code: vec![Insn::new(Op::Stop, 0, 0, 0)], ..Code::default() }, 2));
            append(&mut self.module, number, code, slots);
        }
        self.module
    }
}

fn append(module: &mut Module, number: usize, code: Code, slots: u32) {
    let first = module.code.len() as u32;
    let function = &mut module.functions[number];
    (function.first, function.count, function.slots) = (first, code.code.len() as u32, slots);
    module.code.extend(code.code);
    for (at, mut site) in code.sites {
        site.at += first;
        let insn = &mut module.code[(first + at) as usize];
        *insn = Insn::with_imm(insn.op, insn.a, module.sites.len() as i32);
        module.sites.push(site);
    }
    module.lines.extend(code.lines.into_iter().map(|line| Line { at: line.at + first, ..line }));
    let ends = code.ends.into_iter();
    module.ends.extend(ends.map(|end| End { from: end.from + first, to: end.to + first, ..end }));
}
