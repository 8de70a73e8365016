//! Who has the token, and retries, gives it back before others run. By itself in a program: there is one token for all,
//! which other tests would have meanwhile.
#![cfg(not(loom))]

#[path = "../../raddle-core/tests/support/workers.rs"]
mod workers_only;

use raddle::csp;
use raddle_stm::{TVar, atomically};
use workers_only::runtime;

/// Whoever is to change it finds the gate open.
#[test]
fn who_retries_with_the_token_gives_it_back_before_others_run() {
    runtime(1).run(|| {
        let set = TVar::new(false);
        let other = set.clone();
        let writer = csp::spawn(move || other.store(true));
        let mut runs = 0;
        atomically(|tx| {
            runs += 1;
            let is_set = tx.read(&set)?;
            if runs == 1 {
                // The second run has the token.
                tx.irrevocable()?;
            }
            tx.check(is_set)
        });
        writer.join().unwrap();
        assert_eq!(runs, 3, "the third one finds it set");
    });
}
