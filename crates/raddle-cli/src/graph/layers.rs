//! Owns: where the boxes of one level stand: columns from left to right, in the direction of most channels.
//! May use: nothing.
//! Never: what a box or a line is.
//!
//! The usual four steps (Sugiyama): turn lines that close a circle, give each box a column by its longest way from the
//! left, put the boxes of a column into an order in which few lines cross (by the mean place of those they are joined
//! to), and move them up and down towards these. A line over several columns passes through a point in each.

/// A box, or a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub(super) width: f64,
    pub(super) height: f64,
    /// It stands in the first column, or in the last.
    pub(super) first: bool,
    pub(super) last: bool,
    /// Found here: its column, and its upper left corner.
    pub(super) column: usize,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A line from one item to another.
#[derive(Clone, Debug)]
pub(super) struct PlacedLine {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Room for a text at its beginning.
    pub(super) text_width: f64,
    /// Found here: the points that it passes, by their numbers among the items; and whether it goes back to the left.
    pub(super) through: Vec<usize>,
    pub(super) back: bool,
}

/// Between two boxes of a column.
const BELOW: f64 = 22.0;
/// Between two columns, besides the texts there.
const BESIDE: f64 = 56.0;
const SWEEPS: usize = 12;

/// Places all items, of which more are made for lines over several columns. Returns width and height.
pub(super) fn arrange(items: &mut Vec<Item>, lines: &mut [PlacedLine]) -> (f64, f64) {
    turn(items, lines);
    columns(items, lines);
    let joined = points(items, lines);
    let count = items.iter().map(|item| item.column + 1).max().unwrap_or(0);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); count];
    (0..items.len()).for_each(|at| columns[items[at].column].push(at));
    order(&mut columns, items.len(), &joined);
    upright(items, &columns, &joined);
    let mut x = 0.0;
    for (number, column) in columns.iter().enumerate() {
        let wide = column.iter().map(|&at| items[at].width).fold(0.0, f64::max);
        for &at in column {
            let item = &mut items[at];
            item.x = if item.last { x + wide - item.width } else { x + (wide - item.width) / 2.0 };
        }
        let texts = lines.iter().filter(|line| items[line.from].column == number).map(|line| line.text_width);
        let last = number + 1 == columns.len();
        x += wide + if last { 0.0 } else { BESIDE + texts.fold(0.0, f64::max) };
    }
    let top = items.iter().map(|item| item.y).fold(f64::MAX, f64::min);
    items.iter_mut().for_each(|item| item.y -= top);
    (x, items.iter().map(|item| item.y + item.height).fold(0.0, f64::max))
}

/// Marks the lines that close a circle, or begin and end at one box.
fn turn(items: &[Item], lines: &mut [PlacedLine]) {
    // 0: not seen; 1: on the way; 2: done.
    let mut seen = vec![0_u8; items.len()];
    let entered = |at: usize, lines: &[PlacedLine]| lines.iter().any(|line| line.to == at && line.from != at);
    let mut begins: Vec<usize> = (0..items.len()).collect();
    begins.sort_by_key(|&at| (!items[at].first, entered(at, lines)));
    for begin in begins {
        if seen[begin] != 0 {
            continue;
        }
        let mut stack = vec![(begin, 0)];
        seen[begin] = 1;
        while let Some((at, next)) = stack.pop() {
            let Some(number) = (next..lines.len()).find(|&it| lines[it].from == at) else {
                seen[at] = 2;
                continue;
            };
            stack.push((at, number + 1));
            let to = lines[number].to;
            match seen[to] {
                1 => lines[number].back = true,
                0 => {
                    seen[to] = 1;
                    stack.push((to, 0));
                }
                _ => {}
            }
        }
    }
}

/// Each item's column: behind all from which a line comes.
fn columns(items: &mut [Item], lines: &[PlacedLine]) {
    let inner = usize::from(items.iter().any(|item| item.first));
    items.iter_mut().for_each(|item| item.column = if item.first { 0 } else { inner });
    for _ in 0..items.len() {
        let mut moved = false;
        for line in lines.iter().filter(|line| !line.back) {
            let least = items[line.from].column + 1;
            if items[line.to].column < least {
                items[line.to].column = least;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let most = items.iter().filter(|item| !item.last).map(|item| item.column).max().unwrap_or(0);
    items.iter_mut().filter(|item| item.last).for_each(|item| item.column = most + 1);
}

/// Makes the points that long lines pass through; returns all pairs of items in neighbouring columns that are joined.
fn points(items: &mut Vec<Item>, lines: &mut [PlacedLine]) -> Vec<(usize, usize)> {
    let mut joined = Vec::new();
    for line in lines.iter_mut().filter(|line| !line.back) {
        let mut at = line.from;
        for column in items[line.from].column + 1..items[line.to].column {
            items.push(Item { height: 4.0, column, ..Item::default() });
            line.through.push(items.len() - 1);
            joined.push((at, items.len() - 1));
            at = items.len() - 1;
        }
        joined.push((at, line.to));
    }
    joined
}

/// Neighbours of each item: in the column before, in the column behind.
fn neighbours(count: usize, joined: &[(usize, usize)]) -> Vec<[Vec<usize>; 2]> {
    let mut list = vec![[Vec::new(), Vec::new()]; count];
    for &(from, to) in joined {
        list[to][0].push(from);
        list[from][1].push(to);
    }
    list
}

fn order(columns: &mut [Vec<usize>], count: usize, joined: &[(usize, usize)]) {
    let near = neighbours(count, joined);
    let mut place = vec![0.0; count];
    let note = |place: &mut [f64], column: &[usize]| {
        for (number, &at) in column.iter().enumerate() {
            place[at] = number as f64;
        }
    };
    columns.iter().for_each(|column| note(&mut place, column));
    for sweep in 0..SWEEPS {
        let side = sweep % 2;
        let numbers: Vec<usize> =
            if side == 0 { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for number in numbers {
            let mut keyed: Vec<(f64, usize)> = columns[number]
                .iter()
                .map(|&at| (mean(near[at][side].iter().map(|&it| place[it])).unwrap_or(place[at]), at))
                .collect();
            keyed.sort_by(|one, two| one.0.total_cmp(&two.0));
            columns[number] = keyed.into_iter().map(|it| it.1).collect();
            note(&mut place, &columns[number]);
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), it| (sum + it, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Moves items up and down within their order.
fn upright(items: &mut [Item], columns: &[Vec<usize>], joined: &[(usize, usize)]) {
    let near = neighbours(items.len(), joined);
    for column in columns {
        let mut y = 0.0;
        for &at in column {
            items[at].y = y;
            y += items[at].height + BELOW;
        }
    }
    for sweep in 0..SWEEPS * 2 {
        let side = sweep % 2;
        let numbers: Vec<usize> =
            if side == 0 { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for number in numbers {
            let column = &columns[number];
            let middle = |at: usize, items: &[Item]| items[at].y + items[at].height / 2.0;
            let wanted: Vec<f64> = column
                .iter()
                .map(|&at| {
                    let all = near[at].iter().flatten();
                    let here = near[at][side].iter().map(|&it| middle(it, items));
                    let wish = mean(here).or_else(|| mean(all.map(|&it| middle(it, items))));
                    wish.map_or(items[at].y, |wish| wish - items[at].height / 2.0)
                })
                .collect();
            settle(items, column, &wanted);
        }
    }
}

/// Gives the items of a column places as near to those wanted as their order lets them, groups by their mean.
fn settle(items: &mut [Item], column: &[usize], wanted: &[f64]) {
    // Each group: its first item's place, the sum of the wishes for that, how many, and its height.
    let mut groups: Vec<(f64, usize, f64)> = Vec::new();
    for (&at, &wish) in column.iter().zip(wanted) {
        groups.push((wish, 1, items[at].height + BELOW));
        while groups.len() > 1 {
            let (two, one) = (groups[groups.len() - 1], groups[groups.len() - 2]);
            if one.0 + one.2 <= two.0 {
                break;
            }
            groups.truncate(groups.len() - 2);
            let total = (one.0 * one.1 as f64 + (two.0 - one.2) * two.1 as f64) / (one.1 + two.1) as f64;
            groups.push((total, one.1 + two.1, one.2 + two.2));
        }
    }
    let mut left = column.iter();
    for (place, count, _) in groups {
        let mut y = place;
        for &at in left.by_ref().take(count) {
            items[at].y = y;
            y += items[at].height + BELOW;
        }
    }
}

#[test]
fn columns_follow_the_lines_and_nothing_overlaps() {
    let item = || Item { width: 10.0, height: 10.0, ..Item::default() };
    let line = |from, to| PlacedLine { from, to, text_width: 0.0, through: Vec::new(), back: false };
    let mut items = vec![item(), item(), item(), item()];
    let mut lines = [line(0, 1), line(1, 2), line(2, 0), line(0, 2), line(3, 3)];
    arrange(&mut items, &mut lines);
    assert_eq!(items[..4].iter().map(|it| it.column).collect::<Vec<_>>(), [0, 1, 2, 0]);
    assert_eq!(lines.iter().map(|it| it.back).collect::<Vec<_>>(), [false, false, true, false, true]);
    assert_eq!(lines[3].through.len(), 1);
    for one in &items {
        for two in items.iter().filter(|two| two.x == one.x && two.y > one.y) {
            assert!(one.y + one.height <= two.y, "{items:?}");
        }
    }
}
