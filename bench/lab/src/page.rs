//! Owns: the page: all experiments of a folder in one HTML file, figures included.
//! May use: runs, claims, figures.
//! Never: another file, a script or the network, so that the page can be sent by mail.

use raddle_measure::stats::Verdict;

use crate::claim::{self, Claim};
use crate::experiment::Experiment;
use crate::report;
use crate::run::Run;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#222}\
h1,h2{line-height:1.2}svg{max-width:100%;height:auto;margin:1rem 0}li{margin:.3rem 0}\
.yes::marker{content:'\\2714\\00a0\\00a0'}.no::marker{content:'\\2718\\00a0\\00a0'}\
.open::marker{content:'?\\00a0\\00a0'}\
span.yes::before{content:'\\2714\\00a0'}span.no::before{content:'\\2718\\00a0'}span.open::before{content:'?\\00a0'}\
li span{display:inline-block;margin-right:1.2em;white-space:nowrap}\
.yes{color:#00583f}.no{color:#a02c00}.open{color:#555}.meta{color:#555;font-size:.9rem}\
table{border-collapse:collapse;font-size:.8rem}td,th{padding:.1rem .5rem;text-align:right;border-bottom:1px solid #ddd}\
td:nth-child(-n+2),td:nth-child(4){text-align:left}summary{cursor:pointer}";

/// The page of these runs.
pub fn page(runs: &[(&Experiment, Run)]) -> String {
    let mut body = String::from("<h1>Raddle's laboratory</h1>");
    body += &format!("<p>{}</p>", escape(&overview(runs)));
    for (experiment, run) in runs {
        body += &section(experiment, run);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Raddle's laboratory</title>\
         <style>{STYLE}</style><body>{body}</body></html>\n"
    )
}

/// The sentences of the page, as text.
pub fn sentences(runs: &[(&Experiment, Run)]) -> String {
    let mut text = format!("# Raddle's laboratory\n\n{}\n", overview(runs));
    for (experiment, run) in runs {
        text += &format!("\n## {}\n\n```text\n{}```\n\n", experiment.title, report::heading(run));
        for sentence in report::sentences(experiment, run) {
            text += &format!("- {sentence}\n");
        }
        for (name, why) in report::missing(run) {
            text += &format!("- {name}: {why}\n");
        }
    }
    text
}

/// A summary of how many requirements hold.
pub fn overview(runs: &[(&Experiment, Run)]) -> String {
    let verdicts: Vec<Option<Verdict>> = claims_of(runs).map(|claim| claim.verdict()).collect();
    let count =
        |wanted: &[Option<Verdict>]| verdicts.iter().filter(|verdict| wanted.contains(verdict)).count();
    let within = claims_of(runs).filter(|claim| {
        claim.verdict() == Some(Verdict::Open)
            && claim.interval.is_some_and(|found| found.median <= claim.bound)
    });
    format!(
        "Of {} requirements {} hold and {} do not; {} are open, since the bound lies within the 95 % interval (of {} \
         the median is within the bound); {} were measured in too few rounds to tell (of these {} look as if they \
         held), and {} were not measured.",
        verdicts.len(),
        count(&[Some(Verdict::Yes)]),
        count(&[Some(Verdict::No)]),
        count(&[Some(Verdict::Open)]),
        within.count(),
        count(&[Some(Verdict::LooksLikeYes), Some(Verdict::LooksLikeNo)]),
        count(&[Some(Verdict::LooksLikeYes)]),
        count(&[None])
    )
}

fn claims_of<'a>(runs: &'a [(&Experiment, Run)]) -> impl Iterator<Item = Claim> + 'a {
    runs.iter().flat_map(|(experiment, run)| (experiment.claims)(run))
}

fn class(claim: &Claim) -> &'static str {
    match claim.verdict() {
        Some(Verdict::Yes) => "yes",
        Some(Verdict::No) => "no",
        _ => "open",
    }
}

/// One claim as a line; a series as a line with a mark at each place.
fn line(claims: &[Claim]) -> String {
    if let [claim] = claims {
        return format!("<li class=\"{}\">{}</li>", class(claim), escape(&claim.sentence()));
    }
    let place =
        |claim: &Claim| format!("<span class=\"{}\">{}</span>", class(claim), escape(&claim.in_series()));
    let places: Vec<String> = claims.iter().map(place).collect();
    format!("<li>{}:<br>{}</li>", escape(&claims[0].required_of_series()), places.join(" "))
}

fn section(experiment: &Experiment, run: &Run) -> String {
    let mut text = format!("<h2>{}</h2><p>{}</p>", escape(experiment.title), escape(experiment.story));
    text += &format!("<p class=\"meta\">{}</p>", escape(&report::heading(run)).replace('\n', "<br>"));
    text += "<ul>";
    for claims in claim::together(&(experiment.claims)(run)) {
        text += &line(claims);
    }
    for remark in report::remarks(experiment, run) {
        text += &format!("<li>{}</li>", escape(&remark));
    }
    for (name, why) in report::missing(run) {
        text += &format!("<li class=\"meta\">{}: {}</li>", escape(&name), escape(&why));
    }
    text += "</ul>";
    for (_, svg) in (experiment.figures)(run) {
        text += &format!("<figure>{svg}</figure>");
    }
    text + &table(run)
}

fn table(run: &Run) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let titles = row(&report::TITLES.map(String::from), "th");
    let rows: String = report::rows(run).iter().map(|cells| row(cells, "td")).collect();
    format!("<details><summary>All figures</summary><table>{titles}{rows}</table></details>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::EXPERIMENTS;
    use crate::run::tests::run;

    #[test]
    fn the_page_says_what_holds_and_what_is_absent() {
        let at = |workers| ("granularity", "raddle", workers, "packets=64,rounds=1000,grain=1,kind=process");
        let cells = [at(1), at(2)].map(|(b, r, w, p)| (b, r, w, p, if w == 1 { 10.0 } else { 5.0 }));
        let runs = [(&EXPERIMENTS[0], run("granularity", &cells))];
        let page = page(&runs);
        assert!(page.contains("it holds, 17 % below the bound"), "{page}");
        assert!(
            page.contains("absent java: no javac") && page.contains("<svg") && page.contains("All figures")
        );
        assert!(
            overview(&runs).starts_with("Of 5 requirements 1 hold and 0 do not; 0 are open"),
            "{}",
            overview(&runs)
        );
        assert!(!page.contains("<script") && !page.contains("src="));
    }
}
