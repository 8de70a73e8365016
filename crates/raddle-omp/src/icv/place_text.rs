//! Owns: how lists of places and of processors are written.
//! May use: nothing.
//! Never: which processors there are.

/// A place: processors, in the order in which they were named.
pub(crate) type ProcessorList = Vec<usize>;

/// No list has more, and no processor a number above.
const MOST: usize = 1 << 16;

/// The numbers that `count` and `stride` behind a first one make; the fields are the words between colons.
fn fields(words: &[&str]) -> Option<(i64, i64)> {
    let number = |at: usize| words.get(at).map_or(Some(1), |word| word.trim().parse().ok());
    let (count, stride) = (number(0)?, number(1)?);
    (words.len() <= 2 && (1..=1 << 12).contains(&count)).then_some((count, stride))
}

/// The n-th of a row.
fn moved(first: i64, n: i64, stride: i64) -> Option<usize> {
    let at = usize::try_from(first.checked_add(n.checked_mul(stride)?)?).ok()?;
    (at < MOST).then_some(at)
}

/// What stands in braces: `a`, `a:count`, `a:count:stride`, `!a`, with commas between.
fn one_place(text: &str) -> Option<ProcessorList> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let part = part.trim();
        if let Some(excluded) = part.strip_prefix('!') {
            let excluded: usize = excluded.trim().parse().ok()?;
            all.retain(|at| *at != excluded);
            continue;
        }
        let words: Vec<&str> = part.split(':').collect();
        let first: i64 = words[0].trim().parse().ok()?;
        let (count, stride) = fields(&words[1..])?;
        for n in 0..count {
            let at = moved(first, n, stride)?;
            if !all.contains(&at) {
                all.push(at);
            }
        }
    }
    Some(all)
}

/// Places in braces, each perhaps with `:count:stride` behind it; one behind `!` is taken out.
pub(crate) fn explicit(mut text: &str) -> Option<Vec<ProcessorList>> {
    let mut all: Vec<ProcessorList> = Vec::new();
    loop {
        text = text.trim_start();
        let excludes = text.starts_with('!');
        text = text.strip_prefix('!').unwrap_or(text).trim_start();
        let (inner, rest) = text.strip_prefix('{')?.split_once('}')?;
        let place = one_place(inner)?;
        // Up to the next place.
        let (repeat, next) = match rest.find(['{', '!']) {
            Some(at) => (rest[..at].trim_end().strip_suffix(',')?, Some(&rest[at..])),
            None => (rest, None),
        };
        let words: Vec<&str> = match repeat.trim() {
            "" => Vec::new(),
            repeat => repeat.strip_prefix(':')?.split(':').collect(),
        };
        let (count, stride) = fields(&words)?;
        for n in 0..count {
            let moved = place.iter().map(|at| moved(*at as i64, n, stride));
            let moved = moved.collect::<Option<ProcessorList>>()?;
            if (all.len() + 1) * moved.len() > MOST {
                return None;
            }
            if excludes { all.retain(|other| *other != moved) } else { all.push(moved) }
        }
        match next {
            Some(next) => text = next,
            None => return Some(all),
        }
    }
}

/// `GOMP_CPU_AFFINITY`: `a`, `a-b`, `a-b:stride`, with commas or spaces between: each processor is a place.
pub(crate) fn listed(text: &str) -> Option<Vec<ProcessorList>> {
    let mut all = Vec::new();
    for part in text.split([',', ' ', '\t']).filter(|part| !part.is_empty()) {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1"));
        let stride = stride.parse::<usize>().ok().filter(|stride| *stride > 0)?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= 1 << 16 {
            return None;
        }
        all.extend((first..=last).step_by(stride).map(|at| vec![at]));
    }
    Some(all)
}

/// Processors as people write them: `0-3,8`.
pub(crate) fn ranges(processors: &[usize]) -> String {
    let mut sorted = processors.to_vec();
    sorted.sort_unstable();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in sorted {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => runs.push((at, at)),
        }
    }
    let run = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}
