//! Transactions of processes under the seeds of an exploration.
//!
//! A program of its own: the clock of transactions and the gate are of the whole program, and a run could not be
//! repeated beside transactions of other tests.

use raddle::csp;
use raddle::explore::{Options, try_explore};
use raddle_stm::{TVar, atomically};

/// Its transaction has the token, and one in its body waits for what others are to write, who come to the closed gate
/// meanwhile: to open it may be a wait for its lock, and that is no wait inside of the wait for the variables.
#[test]
fn a_process_that_waits_in_the_body_of_one_that_holds_the_others_up_waits_for_one_thing_at_a_time() {
    let found = try_explore(Options { iterations: 300, ..Options::default() }, || {
        let (own, ready) = (TVar::new(0), TVar::new(false));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let ready = ready.clone();
                csp::spawn(move || (0..3).for_each(|_| ready.store(true)))
            })
            .collect();
        let mut runs = 0;
        atomically(|tx| {
            runs += 1;
            tx.read(&own)?;
            if runs <= 6 {
                own.store(runs);
            } else {
                atomically(|tx| {
                    let ready = tx.read(&ready)?;
                    tx.check(ready)
                });
            }
            tx.write(&own, 0)
        });
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    assert!(found.is_ok(), "{}", found.unwrap_err());
}
