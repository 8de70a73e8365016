//! Owns: the table of recipes, and the command that follows each of them.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: the text of a recipe; people write it, in `docs`.
//!
//! A recipe is a section of a page that says which files one touches to add a thing. Beside it stands a change that
//! adds such a thing, in `xtask/recipes`. A test holds both against each other and against the tree: the change
//! touches exactly the files that the numbered steps of the section name, and it still applies. `cargo xtask recipes`
//! makes the change in a copy of the tree, where what the change lists as its proof must succeed: that it builds, and
//! that the thing added does what it was added for. A step that the page forgot is one that the change lacks, and then
//! it does not.

mod change;
mod copy;
mod page;
mod prove;

use std::process::ExitCode;

use anyhow::Context as _;
use change::Change;
use copy::Tree;

use crate::{house, report};

/// A section of a page.
#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    page: &'static str,
    section: &'static str,
}

const RECIPES: &[Recipe] = &[
    Recipe { name: "lock", page: "docs/recipes.md", section: "A lock" },
    Recipe { name: "victim", page: "docs/recipes.md", section: "A victim policy" },
    Recipe { name: "event", page: "docs/recipes.md", section: "A trace event" },
    Recipe { name: "subcommand", page: "docs/recipes.md", section: "A subcommand of `raddle`" },
    Recipe { name: "rival", page: "docs/recipes.md", section: "A rival" },
    Recipe { name: "operator", page: "docs/recipes-occam.md", section: "An occam operator" },
    Recipe { name: "instruction", page: "docs/recipes-occam.md", section: "An instruction" },
];

#[derive(clap::Args)]
pub(crate) struct RecipesArgs {
    /// Recipes to follow, each in a tree of its own; all of them in one tree if none is named
    #[arg(value_name = "NAME", value_parser = names())]
    names: Vec<String>,
}

fn names() -> clap::builder::PossibleValuesParser {
    RECIPES.iter().map(|recipe| recipe.name).into()
}

impl Recipe {
    fn change(self) -> anyhow::Result<Change> {
        let path = format!("xtask/recipes/{}.diff", self.name);
        let text = std::fs::read_to_string(house::root().join(&path));
        Change::parse(&text.with_context(|| format!("could not read {path}"))?).context(path)
    }

    /// The files that its numbered steps name.
    fn files(self) -> anyhow::Result<Vec<String>> {
        let page = std::fs::read_to_string(house::root().join(self.page));
        let page = page.with_context(|| format!("could not read {}", self.page))?;
        page::files(&page, self.section).with_context(|| format!("{} has no such recipe", self.page))
    }

    /// What the page and the change do not agree about.
    fn disagreements(self, change: &Change) -> anyhow::Result<Vec<String>> {
        let named = self.files()?;
        let touched: Vec<_> = change.files().collect();
        let unnamed = touched.iter().filter(|path| !named.iter().any(|name| page::covers(name, path)));
        let unnamed = unnamed.map(|path| format!("it changes {path}, which no step names"));
        let idle = named.iter().filter(|name| !touched.iter().any(|path| page::covers(name, path)));
        let idle = idle.map(|name| format!("a step names {name}, in which it changes nothing"));
        Ok(unnamed.chain(idle).collect())
    }
}

/// Follows the recipes. Ends with 1 if one does not lead where it should.
pub(crate) fn run(args: &RecipesArgs) -> anyhow::Result<ExitCode> {
    let mut failed = 0;
    if args.names.is_empty() {
        failed = follow(RECIPES)?;
    }
    if failed > 0 {
        report::say(
            "All are in one copy, where one can spoil the others: `cargo xtask recipes NAME` follows one.\n",
        );
    }
    let named = RECIPES.iter().filter(|recipe| args.names.iter().any(|name| name == recipe.name));
    for recipe in named.clone() {
        failed += follow(std::slice::from_ref(recipe))?;
    }
    let all = if args.names.is_empty() { RECIPES.len() } else { named.count() };
    let outcome = if failed == 0 { "ok" } else { "FAILED" };
    // As cargo's test programs have it, so that who runs all groups adds it up.
    report::say(&format!("\ntest result: {outcome}. {} passed; {failed} failed; 0 ignored\n", all - failed));
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Makes the changes of all these in one copy of the tree, then proves each; how many proofs failed.
fn follow(recipes: &[Recipe]) -> anyhow::Result<usize> {
    let mut tree = Tree::of_house()?;
    let mut changes = Vec::new();
    for recipe in recipes {
        let change = recipe.change()?;
        let wrong = recipe.disagreements(&change)?;
        anyhow::ensure!(wrong.is_empty(), "{} and {}.diff: {}", recipe.page, recipe.name, wrong.join("; "));
        tree.make(&change).with_context(|| format!("the recipe `{}`", recipe.name))?;
        changes.push(change);
    }
    let at = tree.write()?;
    let mut count = 0;
    for (recipe, change) in recipes.iter().zip(&changes) {
        let failed = prove::all(change, &at)?;
        let outcome = if failed.is_none() { "ok" } else { "FAILED" };
        report::say(&format!("test {}: {} ... {outcome}\n", recipe.page, recipe.section));
        if let Some(failed) = failed {
            report::say(&format!("in {}\n$ {}\n{}\n", at.root.display(), failed.step, failed.said));
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_touches_the_files_that_its_recipe_names() {
        for recipe in RECIPES {
            let change = recipe.change().unwrap_or_else(|error| panic!("{error:#}"));
            let wrong = recipe.disagreements(&change).unwrap_or_else(|error| panic!("{error:#}"));
            assert!(wrong.is_empty(), "{}, `{}`:\n{}", recipe.page, recipe.section, wrong.join("\n"));
        }
    }

    #[test]
    fn a_file_too_many_or_too_few_is_noticed() {
        let change = Change::parse("--- docs/README.md\n@@\n+x\n").expect("a change");
        let wrong = RECIPES[1].disagreements(&change).expect("the page is there").join("\n");
        assert!(wrong.contains("it changes docs/README.md, which no step names"), "{wrong}");
        assert!(wrong.contains("a step names crates/raddle-core/src/policy.rs, in which"), "{wrong}");
    }

    #[test]
    fn each_change_still_applies_and_is_proved() {
        let mut all = Tree::of_house().expect("the tree can be read");
        for recipe in RECIPES {
            let change = recipe.change().unwrap_or_else(|error| panic!("{error:#}"));
            assert!(!change.proof().is_empty(), "nothing proves `{}`", recipe.name);
            let mut alone = Tree::of_house().expect("the tree can be read");
            for tree in [&mut alone, &mut all] {
                tree.make(&change).unwrap_or_else(|error| panic!("{}: {error:#}", recipe.name));
            }
        }
    }

    #[test]
    fn every_section_of_the_pages_is_followed() {
        for path in ["docs/recipes.md", "docs/recipes-occam.md"] {
            let page = std::fs::read_to_string(house::root().join(path)).expect(path);
            for section in page.lines().filter_map(|line| line.strip_prefix("## ")) {
                let known = RECIPES.iter().any(|recipe| recipe.page == path && recipe.section == section);
                assert!(known, "{path}: nobody follows `{section}`");
            }
        }
    }
}
