//! Owns: the account of a race.
//! May use: `machine`, `races::shadow`, `raddle-bytecode`.
//! Never: more than the two who met.

use super::{Report, WaitingProcess};
use crate::machine::Machine;
use crate::races::{Access, Deed, Race};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use raddle_bytecode::Watched;

impl<L: Default> Machine<L> {
    /// What `watched` says lies there: `a[3]`.
    fn watched_name(&self, race: Race) -> String {
        let module = self.program.module();
        let Some(Watched { name, element, dims }) = module.watched.get(race.watched as usize) else {
            return "`?`".to_string();
        };
        let mut number = race.offset / (*element).max(1);
        let mut subscripts = Vec::new();
        // The outermost is what is left; an inner size that is not known ends the list.
        let inner = dims.iter().skip(1).rev().take_while(|&&size| size > 0);
        for &size in inner {
            subscripts.push(number % size);
            number /= size;
        }
        if !dims.is_empty() {
            subscripts.push(number);
        }
        let subscripts: String = subscripts.iter().rev().map(|subscript| format!("[{subscript}]")).collect();
        format!("`{}{subscripts}`", module.string(*name))
    }

    pub(super) fn report_race(&self, race: Race) -> Report {
        let what = self.watched_name(race);
        let headline =
            format!("run-time error: race: {what} is used by two processes, and nothing orders them");
        let processes = [self.racer(race.now, &what, false), self.racer(race.earlier, &what, true)];
        Report { headline, processes: processes.into(), ..Report::default() }
    }

    fn racer(&self, access: Access, what: &str, earlier: bool) -> WaitingProcess {
        let verb = match (access.deed, earlier) {
            (Deed::Change, true) => "has changed",
            (Deed::Change, false) => "changes",
            (Deed::Read, true) => "has read",
            (Deed::Read, false) => "reads",
            (Deed::Output, true) => "has written to",
            (Deed::Output, false) => "writes to",
            (Deed::Input, true) => "has read from",
            (Deed::Input, false) => "reads from",
        };
        let doing = format!("{verb} {what}");
        let (name, place) = (self.function_name(access.at), self.place_of(access.at));
        // It may have ended since, and its number be another's.
        let lives = self.processes.get(access.process).filter(|it| it.beginning() == access.start);
        let (within, indices) = match lives.filter(|_| !earlier) {
            Some(process) => self.within(process, access.at),
            None => ([format!("in the process begun at {}", self.place_of(access.start))].into(), Vec::new()),
        };
        WaitingProcess {
            id: access.process,
            name,
            indices,
            place,
            doing,
            within,
            ..WaitingProcess::default()
        }
    }
}
