//! Owns: `raddle build --ram`: whether a program fits into so much memory, and what each part of it takes.
//! May use: `raddle-bytecode`, `raddle-host`.
//! Never: writes anything.
//!
//! What the machine itself takes is that of the small image, which `boards/tests.sh` holds against these figures: the
//! program's code and tables as they are in memory, a record for each process, the queue, and the stack.

use super::need::{self, Unknown};
use raddle_bytecode::Module;
use raddle_host::{block_bytes, records};
use std::fmt::Write as _;
use std::str::FromStr;

/// So many bytes of memory, as an option has them: `10K`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ram(pub(crate) u64);

impl FromStr for Ram {
    type Err = String;

    fn from_str(text: &str) -> Result<Ram, String> {
        let (digits, unit) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
            Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
            _ => (text, 1),
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = digits.parse::<u64>().ok().filter(|_| is_number).and_then(|it| it.checked_mul(unit));
        // A machine of 32 bits has no more.
        bytes
            .filter(|bytes| (1..1 << 32).contains(bytes))
            .map(Ram)
            .ok_or_else(|| "a number of bytes from 1 to 4095M, as 10240, 10K or 1M".to_owned())
    }
}

/// Below, nothing of the program's lies.
const FLOOR: u64 = 64;
/// What the image has of its own, and a record of a process.
const STACK_BYTES: u64 = 5376;
const OWN_BYTES: u64 = 512;
const RECORD_BYTES: u64 = 40;

/// What is written behind the program, for the board.
pub(crate) const PART: &[u8; 4] = b"ROOM";

/// What a program takes.
pub(crate) struct Budget {
    /// The bytes of memory that its processes get.
    pub(crate) memory: u32,
    /// How many of them there are at once.
    pub(crate) processes: u32,
    /// What takes how much, and what that is.
    parts: Vec<BudgetPart>,
}

struct BudgetPart {
    name: &'static str,
    bytes: u64,
    what: String,
}

impl Budget {
    /// Of a program; otherwise, what cannot be known of it.
    pub(crate) fn of(module: &Module) -> Result<Budget, String> {
        let need = need::of(module).map_err(|unknown| refused(module, &unknown))?;
        let entry = &module.functions[module.entry as usize];
        let main = block_bytes(u64::from(entry.slots) * 4);
        let data = module.data.len() as u64;
        let memory = FLOOR + data.next_multiple_of(8) + main + need.bytes();
        let processes = need.processes.saturating_add(1);
        let (Ok(memory), Ok(processes)) = (u32::try_from(memory), u32::try_from(processes)) else {
            return Err(format!("it takes {memory} bytes of frames, which no board has"));
        };
        let widest = need.takers.iter().max_by_key(|(_, bytes)| **bytes);
        let mut frames = format!("{main} main and what it calls, one at a time");
        if let Some((&at, bytes)) = widest.filter(|(_, bytes)| **bytes > 0) {
            let _ = write!(frames, "; {bytes} {}", taker(module, at));
        }
        let tables = 16 * module.functions.len() + 48 * module.sites.len() + 8 * module.pool.len();
        let names: u64 = module.strings.iter().map(|name| 28 + name.len() as u64).sum();
        let part = |name, bytes, what| BudgetPart { name, bytes, what };
        let parts = vec![
            part("frames", u64::from(memory) - FLOOR - data, frames),
            part("constants", FLOOR + data, "texts and tables of the program".to_owned()),
            part(
                "processes",
                records(processes + 1) * RECORD_BYTES,
                format!(
                    "{processes} at once, {RECORD_BYTES} bytes each; room for {}",
                    records(processes + 1)
                ),
            ),
            part("queue", 4 * u64::from(processes.next_power_of_two()), "who can run".to_owned()),
            part("code", 8 * module.code.len() as u64, format!("{} instructions", module.code.len())),
            part("tables", tables as u64 + names, "functions, calls and their names".to_owned()),
            part("stack", STACK_BYTES, "the machine's; no process has one".to_owned()),
            part("machine", OWN_BYTES, "its other data".to_owned()),
        ];
        let mut budget = Budget { memory, processes, parts };
        let channels = need.channels;
        budget.parts[0].what += &format!("; channels in them {channels}");
        Ok(budget)
    }

    /// All of it, in bytes.
    pub(crate) fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// What fits, part by part; or that it does not, and what takes most.
    pub(crate) fn fits(&self, name: &str, ram: Ram) -> Result<String, String> {
        let (total, Ram(room)) = (self.total(), ram);
        let mut text = String::new();
        for BudgetPart { name, bytes, what } in &self.parts {
            let _ = writeln!(text, "  {name:<10}{bytes:>8}  {what}");
        }
        if total <= room {
            return Ok(format!(
                "`{name}` fits into {room} bytes of memory: it takes {total} at most\n{text}"
            ));
        }
        let most = self.parts.iter().max_by_key(|part| part.bytes).expect("there are parts");
        Err(format!(
            "`{name}` takes {total} bytes of memory, {} more than {room}; most of it, {}, is {} ({})\n{}",
            total - room,
            most.bytes,
            most.name,
            most.what,
            text.trim_end()
        ))
    }
}

fn place(module: &Module, at: u32) -> String {
    match module.line_at(at) {
        Some(line) => format!("{}:{}:{}", module.string(line.file), line.line, line.column),
        None => format!("instruction {at}"),
    }
}

fn taker(module: &Module, at: u32) -> String {
    let kind = match module.code[at as usize].op.effect() {
        raddle_bytecode::Effect::ForkMany => "the PAR",
        _ => "the array",
    };
    format!("{kind} at {}", place(module, at))
}

fn refused(module: &Module, unknown: &Unknown) -> String {
    format!(
        "how much memory it takes is not known before it runs: {} ({})",
        unknown.what,
        place(module, unknown.at)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_occam::{Options, analyse, lower, pre::NoFiles, source::Sources};

    fn budget(text: &str) -> Result<Budget, String> {
        let mut sources = Sources::new();
        let root = sources.add("program.occ", text).expect("it is short");
        let checked =
            analyse(&mut sources, root, &Options::default(), &mut NoFiles).checked().expect("it is right");
        Budget::of(&lower::lower(&checked, &sources).expect("it can be compiled"))
    }

    const RING: &str = "PROC stage (CHAN INT in?, out!)\n  INT x:\n  SEQ\n    in ? x\n    out ! x\n:\n\
         PROC row (VAL INT n)\n  [10]CHAN INT c:\n  PAR i = 0 FOR n - 1\n    stage (c[i]?, c[i + 1]!)\n:\n";

    #[test]
    fn numbers_of_processes_follow_arguments() {
        for n in [2, 5, 9] {
            let one = budget(&format!("{RING}PROC main ()\n  row ({n})\n:\n")).unwrap();
            assert_eq!(one.processes, n, "main, and {n} - 1");
        }
        let text = format!("{RING}PROC main ()\n  SEQ\n    row (9)\n    row (3)\n:\n");
        assert_eq!(budget(&text).unwrap().processes, 9, "one after the other");
        let text = format!("{RING}PROC main ()\n  PAR\n    row (9)\n    row (3)\n:\n");
        assert_eq!(budget(&text).unwrap().processes, 12, "side by side: main and one fork, 8 and 2");
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        let text = format!(
            "{RING}PROC main (CHAN BYTE keyboard?)\n  BYTE b:\n  SEQ\n    keyboard ? b\n    row (INT b)\n:\n"
        );
        let refused = budget(&text).err().unwrap();
        assert!(refused.contains("how many processes this PAR has (program.occ:9:"), "{refused}");
        let text = "REC PROC again (VAL INT n)\n  IF\n    n > 0\n      again (n - 1)\n    TRUE\n      SKIP\n:\n\
                    PROC main ()\n  again (9)\n:\n";
        let refused = budget(text).err().unwrap();
        assert!(refused.contains("how deep it calls itself"), "{refused}");
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_takes_most() {
        let text = "PROC main ()\n  [3000]INT a:\n  SEQ i = 0 FOR SIZE a\n    a[i] := i\n:\n";
        let budget = budget(text).unwrap();
        assert!(budget.fits("x", Ram(64 << 10)).is_ok());
        let refused = budget.fits("x", Ram(10 << 10)).unwrap_err();
        assert!(
            refused.contains("is frames") && refused.contains("the array at program.occ:2:"),
            "{refused}"
        );
    }

    #[test]
    fn memory_is_a_number_with_a_unit() {
        assert_eq!(["1", "10K", "1m"].map(|it| it.parse()), [1, 10 << 10, 1 << 20].map(|it| Ok(Ram(it))));
        for wrong in ["", "K", "0", "-1", "+1", "1G", "1.5K", "4096M", "99999999999999999999"] {
            assert!(wrong.parse::<Ram>().is_err(), "{wrong}");
        }
    }
}
