//! Forks and scopes: `agree` is what `rayon-core` documents of them, run against it and against ours.

mod on_raddle;
mod on_rayon;
