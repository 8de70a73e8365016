//! Owns: the test that a number keeps its meaning, and that `FORMAT.md` lists every instruction.
//! May use: the table of instructions, `FORMAT.md`.
//! Never: writes a list in which a number of the same numbering has become another instruction.

use raddle_bytecode::{NUMBERING, Op};
use std::path::Path;

const BEGIN: &str = "<!-- generated: instructions -->";
const END: &str = "<!-- end of instructions -->";

/// The list as it must stand in the page.
fn list() -> String {
    let mut text =
        format!("Numbering {NUMBERING}.\n\n| number | word | form | slots | effect | what it does |\n");
    text += "|---|---|---|---|---|---|\n";
    for op in Op::ALL {
        let [a, b, c] = op.slots();
        let (number, name, form, effect) = (*op as u8, op.name(), op.form(), op.effect());
        text += &format!("| {number} | `{name}` | {form:?} | {a} {b} {c} | `{effect:?}` | {} |\n", op.what());
    }
    text
}

/// What has become of the numbers that a list gives: those of its own numbering keep their meaning.
fn changed(before: &str) -> Vec<String> {
    let numbering = before.lines().find_map(|line| line.strip_prefix("Numbering ")?.strip_suffix('.'));
    if numbering != Some(NUMBERING.to_string().as_str()) {
        return Vec::new();
    }
    let rows = before.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let number: u8 = cells.nth(1)?.parse().ok()?;
        Some((number, cells.next()?.trim_matches('`')))
    });
    let now = |number| Op::from_number(number).map_or("nothing", Op::name);
    let moved = rows.filter(|&(number, name)| now(number) != name);
    moved.map(|(number, name)| format!("{number} was `{name}` and is {}", now(number))).collect()
}

#[test]
fn every_number_means_what_the_page_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("FORMAT.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the list begins");
    let (listed, after) = rest.split_once(END).expect("the list ends");
    let changed = changed(listed);
    assert!(
        changed.is_empty(),
        "{changed:?}: files hold these numbers; raise NUMBERING, so that they are refused"
    );
    let wanted = format!("{before}{BEGIN}\n{}{END}{after}", list());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("the page can be written");
    } else {
        assert!(page == wanted, "the list in FORMAT.md is old: UPDATE_EXPECT=1 writes it anew");
    }
}

#[test]
fn a_number_that_has_changed_is_noticed_unless_the_numbering_has() {
    let list = list();
    assert_eq!(changed(&list), Vec::<String>::new());
    let other = list.replace("| 9 | `add` |", "| 9 | `sum` |");
    assert_eq!(changed(&other), ["9 was `sum` and is add"]);
    assert_eq!(changed(&other.replace("Numbering 1.", "Numbering 0.")), Vec::<String>::new());
    assert_eq!(changed("Numbering 1.\n| 255 | `gone` |\n"), ["255 was `gone` and is nothing"]);
}

#[test]
fn numbers_rise_with_the_rows_and_lead_back() {
    assert!(Op::ALL.windows(2).all(|pair| (pair[0] as u8) < (pair[1] as u8)));
    assert!(Op::ALL.iter().all(|&op| Op::from_number(op as u8) == Some(op)));
    assert!(Op::ALL.iter().all(|&op| Op::from_name(op.name()) == Some(op)));
}

#[test]
fn the_effect_agrees_with_the_form() {
    use raddle_bytecode::Effect;
    for &op in Op::ALL {
        let (effect, form) = (op.effect(), op.form());
        let to_a_label = matches!(
            effect,
            Effect::Jump
                | Effect::JumpIf(..)
                | Effect::Repeat
                | Effect::RepeatStep
                | Effect::Fork
                | Effect::AltClose
        );
        assert_eq!(form.jumps(), to_a_label, "{op:?}");
        assert_eq!(format!("{form:?}").ends_with("site"), effect.calls(), "{op:?}");
        let [a, b, _] = op.slots();
        match effect {
            Effect::Set(_) | Effect::Check(_) => assert!(a > 0, "{op:?} has no slot to set or check"),
            Effect::AltOpen | Effect::AltWait | Effect::AltClose => assert_eq!(a, 6, "{op:?}"),
            Effect::AltGuard | Effect::AltChannel => assert_eq!(b, 6, "{op:?}"),
            _ => {}
        }
    }
}
