//! Owns: which script places the parts of an image: that of the board whose feature is on.
//! May use: nothing.
//! Never: flags of the compiler.

fn main() {
    let root = format!("{}/..", std::env!("CARGO_MANIFEST_DIR"));
    for board in ["lm3s6965evb", "microbit", "sifive_e"] {
        println!("cargo::rerun-if-changed={root}/boards/{board}.ld");
        if std::env::var_os(format!("CARGO_FEATURE_{}", board.to_uppercase())).is_some() {
            println!("cargo::rustc-link-arg=-L{root}");
            println!("cargo::rustc-link-arg=-T{root}/boards/{board}.ld");
            println!("cargo::rustc-link-arg=--oformat=binary");
            println!("cargo::rustc-link-arg=--icf=all");
            // Beside the image, what takes how much of it.
            println!("cargo::rustc-link-arg=-Map={root}/target/boards/{board}.map");
        }
    }
    println!("cargo::rerun-if-changed={root}/boards/sections.ld");
}
