//! Owns: where a piece of code begins, so that its short loops lie well.
//! May use: nothing.
//! Never: a place that is no multiple of sixteen: constants lie behind the code, and some must lie so.
//!
//! A processor fetches code by lines. A loop of a few instructions that lies across the border of two takes half as
//! long again (PERF: sieve's, an Intel host: 28 to 43 ms, by where it lay alone). Cranelift puts no instruction
//! anywhere in particular, so the piece as a whole is moved.

/// The bytes of a line.
const LINE: usize = 64;
/// Pieces begin at multiples of it.
const STEP: usize = 16;
/// No instruction's.
const NONE: u32 = u32::MAX;
/// A loop of more bytes lies across borders anyhow.
const LONGEST: usize = 4 * LINE;

/// Code that was made of an instruction, from where to where in the piece. They are in the order of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRow {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) at: u32,
}

/// So many bytes that are no instruction's may lie between those of a loop: registers are moved there.
const BETWEEN: usize = 24;

/// Where the code of a loop lies: the first part of the code that ends with its last instruction, and has the others
/// before that. What is rare lies behind it.
fn code_of(rows: &[SourceRow], (first, last): (u32, u32)) -> Option<(usize, usize)> {
    let mut part: Option<(usize, usize, bool)> = None;
    let mut before = 0;
    for row in rows.iter().filter(|row| row.at != NONE) {
        let is_inside = (first..=last).contains(&row.at);
        let (start, is_whole) = match part {
            Some((start, end, is_whole)) if row.start - end <= BETWEEN => (start, is_whole),
            Some((start, end, true)) => return Some((start, end)),
            _ => (if row.start - before <= 8 { before } else { row.start }, false),
        };
        if !is_inside && is_whole {
            return part.map(|(start, end, _)| (start, end));
        }
        part = is_inside.then_some((start, row.end, row.at == last));
        before = row.end;
    }
    part.filter(|part| part.2).map(|(start, end, _)| (start, end))
}

/// The first place from that one on where these loops lie well, each by its first and its last instruction.
pub(crate) fn place(rows: &[SourceRow], loops: &[(u32, u32)], from: usize) -> usize {
    let from = from.next_multiple_of(STEP);
    let loops: Vec<(usize, usize)> = loops
        .iter()
        .filter_map(|&it| code_of(rows, it))
        .filter(|(start, end)| end - start <= LONGEST)
        .collect();
    let borders = |place: usize| -> usize {
        let lines = |&(start, end): &(usize, usize)| (place + end - 1) / LINE - (place + start) / LINE;
        // That of a short one counts for more.
        loops.iter().map(|it| lines(it) * LONGEST / (it.1 - it.0)).sum()
    };
    (0..LINE / STEP).map(|step| from + step * STEP).min_by_key(|&place| borders(place)).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One behind the other, with a gap before the last.
    fn rows(first: usize) -> Vec<SourceRow> {
        let mut rows: Vec<SourceRow> = [(8, 3), (6, 4), (7, 5), (10, 6), (9, 8), (12, 3)]
            .iter()
            .scan(first, |place, &(bytes, at)| {
                *place += bytes;
                Some(SourceRow { start: *place - bytes, end: *place, at })
            })
            .collect();
        let end = rows[rows.len() - 1].end + 20;
        rows.push(SourceRow { start: end, end: end + 30, at: 5 });
        rows
    }

    #[test]
    fn a_short_loop_lies_in_one_line_wherever_it_stands() {
        let mut moved = 0;
        for first in 0..100 {
            let rows = rows(first);
            let (start, end) = code_of(&rows, (4, 6)).expect("it has code");
            assert_eq!((start, end), (first + 8, first + 31), "without what comes before and behind it");
            let place = place(&rows, &[(4, 6)], 1);
            assert_eq!(place % STEP, 0);
            assert_eq!((place + start) / LINE, (place + end - 1) / LINE, "{start} to {end} at {place}");
            moved += usize::from(place != STEP);
        }
        assert!(moved > 0, "all of them lay well");
    }

    #[test]
    fn what_has_no_code_or_much_is_nowhere_in_particular() {
        assert_eq!(code_of(&rows(0), (9, 12)), None);
        assert_eq!(place(&rows(0), &[(9, 12)], 17), 32);
        let long = [
            SourceRow { start: 0, end: LONGEST, at: 1 },
            SourceRow { start: LONGEST, end: LONGEST + 4, at: 2 },
        ];
        assert_eq!(place(&long, &[(1, 2)], 0), 0);
    }
}
