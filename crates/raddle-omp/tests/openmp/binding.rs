//! Where places are written, and where members are put: the library's own rooms, which hold no test themselves.

#[path = "../../src/engine/bound.rs"]
mod bound;
#[path = "../../src/icv/place_text.rs"]
mod place_text;

use bound::{Binding, CLOSE, PRIMARY, SPREAD};
use place_text::{explicit, listed, ranges};

/// Eight places, the master at the third.
const MASTER: Binding = Binding { place: 2, first: 0, count: 8, turn: 0 };

fn places(bind: u32, count: u32) -> Vec<u32> {
    MASTER.of_team(bind, count).iter().map(|bound| bound.place).collect()
}

fn partitions(bind: u32, count: u32) -> Vec<(u32, u32)> {
    MASTER.of_team(bind, count).iter().map(|bound| (bound.first, bound.count)).collect()
}

#[test]
fn members_are_where_the_standard_puts_them() {
    assert_eq!(places(PRIMARY, 3), [2, 2, 2]);
    assert_eq!(places(CLOSE, 3), [2, 3, 4]);
    assert_eq!(places(CLOSE, 8), [2, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(places(CLOSE, 10), [2, 2, 3, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(places(SPREAD, 2), [2, 4]);
    assert_eq!(places(SPREAD, 4), [2, 4, 6, 0]);
    assert_eq!(places(SPREAD, 16), [2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 0, 0, 1, 1]);
    assert_eq!(partitions(SPREAD, 3), [(0, 3), (3, 3), (6, 2)]);
    assert_eq!(partitions(SPREAD, 16)[4], (4, 1));
    assert_eq!(partitions(CLOSE, 3), [(0, 8); 3]);
}

#[test]
fn a_nested_team_stays_within_its_masters_part() {
    let outer = MASTER.of_team(SPREAD, 2);
    let inner: Vec<u32> = outer[1].of_team(CLOSE, 6).iter().map(|bound| bound.place).collect();
    assert_eq!(inner, [4, 4, 5, 5, 6, 7]);
}

#[test]
fn members_of_one_place_take_turns_at_its_processors() {
    let turns: Vec<u32> = MASTER.of_team(PRIMARY, 3).iter().map(|bound| bound.turn).collect();
    assert_eq!(turns, [0, 1, 2]);
    let second = Binding { turn: 1, ..MASTER };
    let turns: Vec<u32> = second.of_team(CLOSE, 9).iter().map(|bound| bound.turn).collect();
    assert_eq!(turns, [1, 2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn places_are_read_as_the_standard_writes_them() {
    assert_eq!(explicit("{0,1},{2}"), Some(vec![vec![0, 1], vec![2]]));
    assert_eq!(explicit("{0:4}:3:4"), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 10, 11]]));
    assert_eq!(explicit("{0:2}:2"), Some(vec![vec![0, 1], vec![1, 2]]));
    assert_eq!(explicit("{0:2:2}:2:1"), Some(vec![vec![0, 2], vec![1, 3]]));
    assert_eq!(explicit("{0}:4:1 , !{2}"), Some(vec![vec![0], vec![1], vec![3]]));
    assert_eq!(explicit("{3},{0}:2,{5}"), Some(vec![vec![3], vec![0], vec![1], vec![5]]));
    assert_eq!(explicit("{0:4,!2}"), Some(vec![vec![0, 1, 3]]));
    assert_eq!(explicit("{3:2:-1}"), Some(vec![vec![3, 2]]));
    for wrong in [
        "",
        "{",
        "{0",
        "0",
        "{0}{1}",
        "{a}",
        "{0},",
        "{0}:",
        "{0}:0",
        "{0}:1:1:1",
        "{0:2:-1}",
        "{0}:99999999",
        "{0:4096}:4096",
        "{9223372036854775807:2}",
        "{0:2:9223372036854775807}",
        "{65536}",
    ] {
        assert_eq!(explicit(wrong), None, "{wrong}");
    }
}

#[test]
fn lists_of_processors_are_read_and_written() {
    assert_eq!(listed("0 3,4-8:2"), Some(vec![vec![0], vec![3], vec![4], vec![6], vec![8]]));
    for wrong in ["3-1", "x", "1-2:0", "0-99999999"] {
        assert_eq!(listed(wrong), None, "{wrong}");
    }
    assert_eq!(ranges(&[3, 0, 1, 2, 8]), "0-3,8");
    assert_eq!(ranges(&[5]), "5");
}
