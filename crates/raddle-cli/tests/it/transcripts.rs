//! Help and messages, word for word. `TRYCMD=overwrite cargo test -p raddle-cli` renews them.

#[test]
fn what_raddle_says() {
    trycmd::TestCases::new().env("COLUMNS", "100").case("tests/transcripts/*.trycmd");
}
