//! Owns: PARs of many branches, whose accesses are sorted, against the same branches two by two, which are not.
//! May use: the public interface, `generated`.
//! Never: an opinion of its own on who meets whom.

use crate::generated::Random;
use raddle_occam::diag::Code;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};

/// The sizes of the array, in each dimension.
const SHAPES: [&[i64]; 5] = [&[60], &[6, 9], &[3, 4, 5], &[2, 30], &[4, 3, 3, 2]];
/// What a subscript may be counted from.
const BASES: [&[&str]; 5] = [&[""], &["v + "], &["", "v + "], &["v + ", "w + "], &["", "(i * 2) + "]];

/// An access to a random part of the array. Most go down to an element, which is most often one of `fresh`.
fn access(random: &mut Random, shape: &[i64], bases: &[&str], fresh: &mut i64) -> String {
    let is_slice = shape.len() == 1 && random.below(20) == 0;
    let depth =
        if random.below(30) == 0 { 1 + random.below(shape.len() as u64) as usize } else { shape.len() };
    // Elements in turn, so that many programs have no conflict.
    *fresh += 1;
    let mut number = if random.below(30) == 0 { random.between(0, 59) } else { *fresh };
    let mut subscripts = Vec::new();
    for size in shape.iter().rev() {
        let base = bases[random.below(bases.len() as u64) as usize];
        subscripts.push(format!("[{base}{}]", number % size));
        number /= size;
    }
    subscripts.reverse();
    if is_slice {
        let from = &subscripts[0][1..subscripts[0].len() - 1];
        return format!("[a FROM {from} FOR {}] := [b FROM 0 FOR {0}]", 1 + random.below(3));
    }
    let part = format!("a{}", subscripts[..depth].concat());
    match random.below(5) {
        _ if depth < shape.len() => format!("whole.{} ({part})", shape.len() - depth),
        0 => format!("x := {part}"),
        _ => format!("{part} := 1"),
    }
}

/// Procedures that change an array of so many dimensions.
fn helpers() -> String {
    (1..4).map(|depth| format!("PROC whole.{depth} ({}INT a)\n  SKIP\n:\n", "[]".repeat(depth))).collect()
}

fn program(shape: &[i64], branches: &[&Vec<String>]) -> String {
    let mut text = helpers();
    let sizes: String = shape.iter().map(|size| format!("[{size}]")).collect();
    text += &format!("PROC work ({sizes}INT a, VAL INT v, w, VAL []INT b)\n  SEQ i = 0 FOR 3\n    PAR\n");
    for branch in branches {
        text += "      INT x:\n      SEQ\n";
        branch.iter().for_each(|line| text += &format!("        {line}\n"));
    }
    text + ":\nPROC main (CHAN BYTE screen!)\n  SKIP\n:\n"
}

/// Whether no two branches meet.
fn accepted(text: &str) -> bool {
    let mut sources = Sources::new();
    let root = sources.add("wide", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let codes: Vec<Code> = analysis.diagnostics().iter().map(|it| it.code).collect();
    let wrong = codes.iter().filter(|code| !code.to_string().starts_with("O07")).collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{:?}\n{text}", analysis.diagnostics());
    codes.is_empty()
}

#[test]
fn many_branches_are_judged_as_each_two_of_them() {
    let mut random = Random(17);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..200 {
        let shape = SHAPES[round % SHAPES.len()];
        let bases = BASES[random.below(5) as usize];
        let mut fresh = random.between(0, 10);
        let branches: Vec<Vec<String>> = (0..9)
            .map(|_| (0..=random.below(3)).map(|_| access(&mut random, shape, bases, &mut fresh)).collect())
            .collect();
        let pairs = || (0..9).flat_map(|one| (0..one).map(move |two| (two, one)));
        let each_two = pairs().all(|(two, one)| accepted(&program(shape, &[&branches[two], &branches[one]])));
        // Twice as many accesses of one branch, so that they are many.
        let doubled: Vec<Vec<String>> = branches
            .iter()
            .map(|branch| std::iter::repeat_n(branch.clone(), 4).flatten().collect())
            .collect();
        let all: Vec<&Vec<String>> = doubled.iter().collect();
        let text = program(shape, &all);
        assert_eq!(accepted(&text), each_two, "{text}");
        *(if each_two { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 40 && wrong > 40, "{right} right, {wrong} wrong: the generator is lopsided");
}
