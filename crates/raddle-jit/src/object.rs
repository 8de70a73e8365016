//! Owns: the code of a program as an object file.
//! May use: `convention`, `function`, `gdb`, `image`, `lines`, `cranelift-codegen`, `raddle-bytecode`,
//! `raddle-host`.
//! Never: an address that a linker does not know.
//!
//! What code names, which else are addresses of this process, are symbols here: the code itself, and four tables.

use crate::convention::NamedPlace;
use crate::function::Compiled;
use crate::function::ReturnRecord;
use crate::gdb::{PROCESSOR, symbol_of};
use crate::image::{self, ALLOCATED, EXECUTED, ImageKind, ImagePart, ImageSymbol, WRITTEN};
use crate::lines::{DebugPart, RoutineCode, describe};
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::ExternalName;
use cranelift_codegen::ir::function::FunctionParameters;
use cranelift_codegen::{FinalizedMachReloc, FinalizedRelocTarget};
use raddle_bytecode::Module;
use raddle_host::CompileInput;

/// What code names, by the number of its symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Table {
    /// All code.
    Code,
    /// What is known of the slots of frames.
    Slots,
    /// Where to jump, for each instruction.
    Codes,
    /// Which of the entries of its code it is.
    Numbers,
    /// The records of the call sites.
    Returns,
    /// The doors to the helpers.
    Doors,
}

impl Table {
    /// By number, with the name and the part in which it lies.
    const ALL: [(Table, &str, usize); 6] = [
        (Table::Code, "raddle_code", TEXT),
        (Table::Slots, "raddle_slots", CONSTANTS),
        (Table::Codes, "raddle_codes", DATA),
        (Table::Numbers, "raddle_numbers", DATA),
        (Table::Returns, "raddle_returns", DATA),
        (Table::Doors, "raddle_doors", DATA),
    ];

    /// Where it lies.
    pub(crate) fn place(self) -> NamedPlace {
        NamedPlace::Behind(self as u32, 0)
    }
}

/// The parts of the file, by number.
const TEXT: usize = 0;
const CONSTANTS: usize = 1;
const DATA: usize = 2;

/// What is in the file beside code.
#[derive(Default)]
pub(crate) struct ObjectParts {
    slots: Vec<u8>,
    /// Where in the code an address is to be put.
    names: Vec<(u64, usize, i64)>,
    /// Where the doors begin.
    pub(crate) doors: Vec<usize>,
}

impl ObjectParts {
    /// What is known of the slots of a function: which have views, of which that many lie before the first, and where
    /// the next one is. Gives where both lie.
    pub(crate) fn add_slots(&mut self, (names, before): (&[u8], usize), gaps: &[u32]) -> [NamedPlace; 2] {
        let gaps_at = self.slots.len();
        self.slots.extend(gaps.iter().flat_map(|gap| gap.to_le_bytes()));
        let names_at = self.slots.len() + before;
        self.slots.extend_from_slice(names);
        self.slots.resize(self.slots.len().next_multiple_of(size_of::<u32>()), 0);
        [names_at, gaps_at].map(|bytes| Table::Slots.place().plus(bytes))
    }

    /// Where the code that begins there names something.
    pub(crate) fn note(
        &mut self,
        offset: usize,
        names: &[FinalizedMachReloc],
        parameters: &FunctionParameters,
    ) -> Result<(), String> {
        for name in names {
            let (Reloc::Abs8, FinalizedRelocTarget::ExternalName(ExternalName::User(symbol))) =
                (name.kind, &name.target)
            else {
                return Err(format!("the code names something by {:?}", name.kind));
            };
            let symbol = parameters.user_named_funcs()[*symbol].index as usize;
            self.names.push((offset as u64 + u64::from(name.offset), symbol, name.addend));
        }
        Ok(())
    }

    /// The file, with the way in and the two ways out, as places in the code.
    pub(crate) fn written(
        self,
        (program, input): (&Module, &CompileInput),
        code: Vec<u8>,
        routines: &[RoutineCode],
        compiled: &[Compiled],
        ways: [usize; 3],
    ) -> Vec<u8> {
        let (data, places) = tables((program, input), compiled, (ways[2], &self.doors));
        let about = describe(program, (0, code.len() as u64), routines);
        let symbols =
            symbols((program, routines), (&places, ways), [code.len(), self.slots.len(), data.bytes.len()]);
        let table =
            |bytes: Vec<u8>, name, flags| ImagePart { name, bytes, flags, align: 64, ..ImagePart::default() };
        let text = ImagePart { relocations: self.names, ..table(code, ".text", ALLOCATED | EXECUTED) };
        let data =
            ImagePart { relocations: in_code(&data), ..table(data.bytes, ".data", ALLOCATED | WRITTEN) };
        let debug = |name, part: DebugPart| {
            let relocations = in_code(&part);
            ImagePart { name, bytes: part.bytes, relocations, ..ImagePart::default() }
        };
        let parts = [
            text,
            table(self.slots, ".rodata", ALLOCATED),
            data,
            debug(".debug_info", about.info),
            debug(".debug_abbrev", DebugPart { bytes: about.abbreviations, ..DebugPart::default() }),
            debug(".debug_line", about.lines),
            // The stack need not be executed.
            debug(".note.GNU-stack", DebugPart::default()),
        ];
        image::write((ImageKind::Relocatable, PROCESSOR), &parts, &symbols)
    }
}

/// Addresses of code, as places to be filled.
fn in_code(part: &DebugPart) -> Vec<(u64, usize, i64)> {
    part.addresses.iter().map(|&(at, offset)| (at, Table::Code as usize, offset as i64)).collect()
}

/// The tables, one after the other, and where in them each of them begins.
fn tables(
    (program, input): (&Module, &CompileInput),
    compiled: &[Compiled],
    (leave_there, doors): (usize, &[usize]),
) -> (DebugPart, Vec<usize>) {
    let count = program.code.len();
    let (mut codes, mut numbers) = (vec![leave_there; count], vec![0_u32; count]);
    for Compiled { offset, points, .. } in compiled {
        for (number, &at) in points.iter().enumerate() {
            (codes[at as usize], numbers[at as usize]) = (*offset, number as u32);
        }
    }
    let mut data = DebugPart::default();
    let mut places = vec![0];
    codes.iter().for_each(|&code| data.address(0, code as u64));
    places.push(data.bytes.len());
    numbers.iter().for_each(|&number| data.word(number));
    data.bytes.resize(data.bytes.len().next_multiple_of(size_of::<u64>()), 0);
    places.push(data.bytes.len());
    for site in &input.sites {
        // As the fields of a return record lie.
        const _: () = assert!(size_of::<ReturnRecord>() == 24);
        match site.dynamic {
            true => data.long(0),
            false => data.address(0, codes[site.back as usize] as u64),
        }
        [site.base_bytes, site.caller_fp_max, site.return_cost as u32, site.back]
            .iter()
            .for_each(|&word| data.word(word));
    }
    places.push(data.bytes.len());
    doors.iter().for_each(|&door| data.address(0, door as u64));
    (data, places)
}

/// The names of the file: first those that code names, by number.
fn symbols(
    (program, routines): (&Module, &[RoutineCode]),
    (places, ways): (&[usize], [usize; 3]),
    sizes: [usize; 3],
) -> Vec<ImageSymbol> {
    let mut symbols = Vec::new();
    for (table, name, part) in Table::ALL {
        let number = (table as usize).saturating_sub(Table::Codes as usize);
        let (from, to) = match part {
            DATA => (places[number], *places.get(number + 1).unwrap_or(&sizes[DATA])),
            _ => (0, sizes[part]),
        };
        symbols.push(ImageSymbol {
            name: name.to_owned(),
            part: Some(part),
            offset: from as u64,
            bytes: (to - from) as u64,
            is_code: false,
            is_local: false,
        });
    }
    for (name, offset) in ["raddle_enter", "raddle_leave", "raddle_leave_there"].into_iter().zip(ways) {
        let (name, offset) = (name.to_owned(), offset as u64);
        symbols.push(ImageSymbol {
            name,
            part: Some(TEXT),
            offset,
            bytes: 0,
            is_code: true,
            is_local: false,
        });
    }
    // Local: what other files call by such a name is not code of this kind.
    symbols.extend(routines.iter().map(|routine| symbol_of(program, routine)));
    symbols
}
