//! Owns: the site: the pages of `docs/` as HTML, with a search, playground and reference inside, every link followed.
//! May use: `house`, `playground`, `report`, `tree`, `anyhow`.
//! Never: a server, a package of others: what it writes can be opened from a disk.
//!
//! A file of the repository that a page links to becomes a page of its own, below `source/`.

#[cfg(test)]
mod examples;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::{house, playground, report, tree};
use markdown::{Rendered, Renderer, escaped};

/// `cargo xtask site`.
#[derive(clap::Args)]
pub(crate) struct SiteArgs {
    /// The folder
    #[arg(short, long, value_name = "FOLDER", default_value = "target/site")]
    output: PathBuf,
    /// Without the reference of the crates, which cargo writes
    #[arg(long)]
    no_rustdoc: bool,
    /// Without the playground, which Debian's compiler builds; its page is then empty
    #[arg(long)]
    no_playground: bool,
}

/// The pages, as the reader finds them beside the text. A test sees that none is missing.
const PAGES: &[(&str, &[&str])] = &[
    ("Begin", &["README.md", "docs/MINUTE.md", "docs/TUTORIAL.md", "docs/PORTING.md"]),
    (
        "occam",
        &[
            "docs/OCCAM.md",
            "docs/PLAYGROUND.md",
            "docs/EDITORS.md",
            "docs/LIBRARIES.md",
            "docs/FOREIGN.md",
            "docs/NATIVE.md",
            "docs/BOARDS.md",
        ],
    ),
    (
        "Programs in Rust",
        &[
            "docs/ASYNC.md",
            "docs/BLOCKING.md",
            "docs/NET.md",
            "docs/CANCEL.md",
            "docs/STM.md",
            "docs/ALLOC.md",
        ],
    ),
    (
        "Programs as they are",
        &["docs/OPENMP.md", "docs/PTHREADS.md", "docs/ITM.md", "docs/MPI.md", "docs/C.md"],
    ),
    ("Why?", &["docs/TRACE.md", "docs/HANGS.md", "docs/EXPLORE.md", "docs/LAB.md"]),
    (
        "Inside",
        &[
            "docs/ARCHITECTURE.md",
            "docs/DOOR.md",
            "docs/HACKING.md",
            "docs/recipes.md",
            "docs/recipes-occam.md",
            "CHANGELOG.md",
        ],
    ),
];

/// Who comes from there reads this first.
const ORIGINS: &[(&str, &str)] = &[
    ("Go", "porting.html#from-go"),
    ("Rayon", "porting.html#from-rayon"),
    ("threads", "porting.html#from-std"),
    ("tokio", "porting.html#from-tokio"),
    ("OpenMP", "porting.html#from-openmp"),
    ("MPI", "porting.html#from-mpi"),
    ("occam", "porting.html#from-occam"),
    ("POSIX threads in C", "pthreads.html"),
    ("C and C++", "c.html"),
];

/// Where the reference of the crates is, within the site: first its folder, then the page that it begins with.
const REFERENCE: [&str; 2] = ["reference", "reference/raddle/index.html"];

/// Where the playground is, within the site.
const PLAYGROUND: &str = "playground.html";

/// Files by their names within the site.
type Files = BTreeMap<String, Vec<u8>>;

/// Writes the site, with the playground.
pub(crate) fn run(args: &SiteArgs) -> anyhow::Result<ExitCode> {
    let mut files = files(!args.no_rustdoc)?;
    fs::create_dir_all(&args.output).with_context(|| format!("could not make {}", args.output.display()))?;
    files.insert(PLAYGROUND.to_owned(), if args.no_playground { Vec::new() } else { played(&args.output)? });
    let mut reference = 0;
    if !args.no_rustdoc {
        reference = referred(&args.output.join(REFERENCE[0]))?;
        let first =
            fs::read(args.output.join(REFERENCE[1])).context("cargo has written no reference of `raddle`")?;
        files.insert(REFERENCE[1].to_owned(), first);
    }
    let dead = dead_links(&files);
    if !dead.is_empty() {
        bail!("links that lead nowhere:\n{}", dead.join("\n"));
    }
    for (name, bytes) in &files {
        let path = args.output.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&args.output))?;
        fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))?;
    }
    let (pages, place) = (files.len(), args.output.display());
    report::say(&format!("site: {pages} files in {place}, and {reference} of the reference; no dead link\n"));
    Ok(ExitCode::SUCCESS)
}

/// The playground's page.
fn played(output: &Path) -> anyhow::Result<Vec<u8>> {
    let page = output.join(PLAYGROUND);
    playground::write(&page)?;
    Ok(fs::read(&page)?)
}

/// Has cargo write the reference of the crates, and takes it along; how many files it has.
fn referred(folder: &Path) -> anyhow::Result<usize> {
    let build = ["doc", "--workspace", "--no-deps", "--lib", "--target-dir", "target/site-reference"];
    let status = Command::new("cargo").args(build).stdin(Stdio::null()).status();
    let status =
        status.context("could not start cargo, which writes the reference; --no-rustdoc leaves it out")?;
    ensure!(status.success(), "cargo could not write the reference ({status}); --no-rustdoc leaves it out");
    copied(&house::root().join("target/site-reference/doc"), folder)
}

fn copied(from: &Path, to: &Path) -> anyhow::Result<usize> {
    fs::create_dir_all(to).with_context(|| format!("could not make {}", to.display()))?;
    let mut files = 0;
    for entry in fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            files += copied(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), &place).with_context(|| format!("could not write {}", place.display()))?;
            files += 1;
        }
    }
    Ok(files)
}

/// What a page of ours is called there.
fn url(page: &str) -> String {
    match page {
        "README.md" => "index.html".to_owned(),
        _ => format!("{}.html", page.trim_start_matches("docs/").trim_end_matches(".md").to_lowercase()),
    }
}

fn all_pages() -> impl Iterator<Item = &'static str> {
    PAGES.iter().flat_map(|(_, pages)| pages.iter().copied())
}

/// Where a path that a page writes leads, from the root.
fn joined(from: &str, target: &str) -> String {
    let mut result = Path::new(from).parent().unwrap_or(Path::new("")).to_path_buf();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::Normal(name) => result.push(name),
            _ => {}
        }
    }
    result.to_string_lossy().into_owned()
}

/// All but the playground and the reference, to which pages lead if it is `referred` to.
fn files(referred: bool) -> anyhow::Result<Files> {
    let wanted = std::cell::RefCell::new(BTreeSet::new());
    let mut rendered = Vec::new();
    for page in all_pages() {
        let text = fs::read_to_string(house::root().join(page)).with_context(|| page.to_owned())?;
        let link = |target: &str| linked(page, target, &wanted);
        rendered.push((page, Renderer { link: &link, below_code: &below_code }.page(&text)));
    }
    let mut titles: BTreeMap<&str, &str> =
        rendered.iter().map(|(page, it)| (*page, it.title.as_str())).collect();
    if referred {
        titles.insert(REFERENCE[1], "Reference");
    }
    let mut files = Files::new();
    for (page, it) in &rendered {
        let body = if *page == "README.md" { format!("{}{}", it.html, origins()) } else { it.html.clone() };
        files.insert(url(page), whole(&it.title, &body, &titles, page, "").into_bytes());
    }
    for path in wanted.into_inner() {
        source(&path, &titles, &mut files)?;
    }
    for name in ["style.css", "search.js"] {
        files.insert(name.to_owned(), fs::read(house::root().join("web/site").join(name))?);
    }
    files.insert("search-index.js".to_owned(), index(&rendered).into_bytes());
    Ok(files)
}

/// The address of what a page links to; a file that is no page of the site is wanted from now on.
fn linked(page: &str, target: &str, wanted: &std::cell::RefCell<BTreeSet<String>>) -> String {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return target.to_owned();
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = joined(page, file);
    let address = match all_pages().find(|page| *page == path) {
        Some(page) => url(page),
        None => {
            let picture = is_picture(&path);
            wanted.borrow_mut().insert(path.clone());
            format!("source/{path}{}", if picture { "" } else { ".html" })
        }
    };
    anchor.map_or(address.clone(), |anchor| format!("{address}#{anchor}"))
}

fn is_picture(path: &str) -> bool {
    [".svg", ".png"].iter().any(|end| path.ends_with(end))
}

/// What a page in a browser has not: foreign routines, and the libraries that call some.
const OUTSIDE: &[&str] = &[
    "#PRAGMA EXTERNAL",
    "\"file.module\"",
    "\"socket.module\"",
    "\"http.module\"",
    "\"proc.module\"",
    "\"env.module\"",
    "\"time.module\"",
    "\"random.module\"",
    "\"graphics.module\"",
    "\"blas.module\"",
    "\"lapack.module\"",
];

/// A whole program in occam can be tried; a test of the group `playground` follows each such link, and it runs.
fn below_code(language: &str, text: &str) -> String {
    let whole = language == "occam" && text.contains("PROC main");
    if !whole || OUTSIDE.iter().any(|it| text.contains(it)) {
        return String::new();
    }
    let packed = playground::base64(text.as_bytes()).replace('+', "-").replace('/', "_").replace('=', "");
    format!("<a class=\"try\" href=\"{PLAYGROUND}#t={packed}\">run it in the playground</a>")
}

fn origins() -> String {
    let links = ORIGINS.iter().map(|(from, to)| format!("<li><a href=\"{to}\">from {from}</a></li>\n"));
    format!("<h2 id=\"you-come-from\">You come</h2>\n<ul>\n{}</ul>\n", links.collect::<String>())
}

/// A file of the repository as a page, or what a folder holds.
fn source(path: &str, titles: &BTreeMap<&str, &str>, files: &mut Files) -> anyhow::Result<()> {
    let place = house::root().join(path);
    if is_picture(path) {
        files.insert(format!("source/{path}"), fs::read(&place).with_context(|| path.to_owned())?);
        return Ok(());
    }
    let text = if place.is_dir() {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let inside = tree::paths().into_iter().filter(|it| it.starts_with(&folder));
        inside.map(|it| it + "\n").collect()
    } else {
        fs::read_to_string(&place).with_context(|| format!("a page links to {path}"))?
    };
    let body = format!("<h1>{0}</h1>\n<pre><code>{1}</code></pre>\n", escaped(path), escaped(&text));
    let up = "../".repeat(1 + path.trim_end_matches('/').matches('/').count());
    let page = whole(path, &body, titles, "", &up);
    files.insert(format!("source/{}.html", path.trim_end_matches('/')), page.into_bytes());
    Ok(())
}

/// A page with everything around it; `up` leads from it to the root of the site.
fn whole(title: &str, body: &str, titles: &BTreeMap<&str, &str>, here: &str, up: &str) -> String {
    let mut nav = format!("<a href=\"{up}{PLAYGROUND}\">Playground</a>\n");
    if let Some(title) = titles.get(REFERENCE[1]) {
        let _ = writeln!(nav, "<a href=\"{up}{}\">{title}</a>", REFERENCE[1]);
    }
    for (group, pages) in PAGES {
        let _ = writeln!(nav, "<b>{group}</b>");
        for page in *pages {
            let class = if *page == here { " class=\"here\"" } else { "" };
            let title = titles.get(page).copied().unwrap_or(page);
            let _ = writeln!(nav, "<a{class} href=\"{up}{}\">{}</a>", url(page), escaped(title));
        }
    }
    let name = if title == "Raddle" { title.to_owned() } else { format!("{title} - Raddle") };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n\
         <link rel=\"stylesheet\" href=\"{up}style.css\">\n</head>\n<body>\n\
         <header><a href=\"{up}index.html\">Raddle</a>\n<div id=\"search\"><input type=\"search\" \
         placeholder=\"search ( / )\" aria-label=\"search\"><ul id=\"found\"></ul></div>\n\
         <a class=\"menu\" href=\"#pages\">pages</a></header>\n<nav id=\"pages\">\n{nav}</nav>\n\
         <main>\n{body}</main>\n<script>const ROOT = '{up}';</script>\n\
         <script src=\"{up}search-index.js\"></script>\n<script src=\"{up}search.js\"></script>\n</body>\n</html>\n",
        escaped(&name)
    )
}

/// What the search looks through: each heading with the text below it.
fn index(rendered: &[(&str, Rendered)]) -> String {
    let mut all = Vec::new();
    for (page, it) in rendered {
        for section in &it.sections {
            let anchor = if section.level == 1 { "" } else { &section.anchor };
            let fields = [
                ("page", &*it.title),
                ("url", &url(page)),
                ("anchor", anchor),
                ("title", &section.title),
                ("text", section.text.trim()),
            ];
            let fields = fields.map(|(key, value)| format!("{key}:{}", playground::quoted(value)));
            all.push(format!("{{{}}}", fields.join(",")));
        }
    }
    format!("const INDEX = [\n{}\n];\n", all.join(",\n"))
}

/// Links of a page that lead to no file, or no heading, of the site.
fn dead_links(files: &Files) -> Vec<String> {
    let ours = |name: &str| name.ends_with(".html") && name != PLAYGROUND && !name.starts_with(REFERENCE[0]);
    let texts = files.iter().filter(|(name, _)| ours(name));
    let mut dead = Vec::new();
    for (name, bytes) in texts {
        let text = String::from_utf8_lossy(bytes);
        let parts =
            ["href=\"", "src=\""].into_iter().flat_map(|it| text.split(it).skip(1).collect::<Vec<_>>());
        for target in parts.filter_map(|part| part.split_once('"')).map(|(target, _)| target) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { name.clone() } else { joined(name, file) };
            let there = files.get(&path);
            let has = |bytes: &Vec<u8>| {
                let heading = format!(" id=\"{anchor}\"");
                anchor.is_empty() || path == PLAYGROUND || String::from_utf8_lossy(bytes).contains(&heading)
            };
            if !there.is_some_and(has) {
                dead.push(format!("{name}: {target}"));
            }
        }
    }
    dead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_the_site() {
        let folder = fs::read_dir(house::root().join("docs")).unwrap();
        let names = folder.map(|it| it.unwrap().file_name().into_string().unwrap());
        let docs = names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
        let missing: Vec<String> = docs.filter(|page| !all_pages().any(|it| it == page)).collect();
        assert!(missing.is_empty(), "{missing:?} is not in the table of pages");
    }

    #[test]
    fn what_the_page_can_run_has_a_link_to_it() {
        let main = "PROC main (CHAN BYTE screen!)\n  SKIP\n:\n";
        assert!(below_code("occam", main).contains("playground.html#t="));
        for (language, text) in [
            ("text", main.to_owned()),
            ("occam", "PROC other ()\n".to_owned()),
            ("occam", format!("#INCLUDE \"file.module\"\n{main}")),
        ] {
            assert_eq!(below_code(language, &text), "");
        }
    }

    #[test]
    fn no_link_is_dead_and_no_markdown_is_left() {
        let mut files = files(false).unwrap();
        files.insert(PLAYGROUND.to_owned(), Vec::new());
        assert_eq!(dead_links(&files), Vec::<String>::new());
        files.remove("occam.html").unwrap();
        assert!(!dead_links(&files).is_empty(), "a page that is not there is missed");
        for page in all_pages().filter(|page| *page != "docs/OCCAM.md") {
            let text = String::from_utf8(files[&url(page)].clone()).unwrap();
            let plain: Vec<&str> =
                text.split("<code").map(|it| it.rsplit("</code>").next().unwrap()).collect();
            for mark in ["](", "**", "```", "\n|"] {
                assert!(!plain.iter().any(|it| it.contains(mark)), "{page}: `{mark}` is left");
            }
        }
    }
}
