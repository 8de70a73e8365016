//! The order in which one worker runs what it has spawned, in the documented examples.

use super::*;

#[test]
fn a_scope_runs_its_youngest_job_first() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::scope(|s| {
            s.spawn(|s| {
                notes.note("s.1");
                s.spawn(|_| {
                    notes.note("s.1.1");
                    jobs::scope(|t| {
                        t.spawn(|_| notes.note("t.1"));
                        t.spawn(|_| notes.note("t.2"));
                    });
                });
            });
            s.spawn(|_| notes.note("s.2"));
        });
        assert_eq!(notes.all(), ["s.2", "s.1", "s.1.1", "t.2", "t.1"]);
    });
}

#[test]
fn a_fifo_scope_runs_its_oldest_job_first() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::scope_fifo(|s| {
            s.spawn_fifo(|s| {
                notes.note("s.1");
                s.spawn_fifo(|_| {
                    notes.note("s.1.1");
                    jobs::scope_fifo(|t| {
                        t.spawn_fifo(|_| notes.note("t.1"));
                        t.spawn_fifo(|_| notes.note("t.2"));
                    });
                });
            });
            s.spawn_fifo(|_| notes.note("s.2"));
        });
        assert_eq!(notes.all(), ["s.1", "s.2", "s.1.1", "t.1", "t.2"]);
    });
}

#[test]
fn the_body_runs_to_its_end_before_its_worker_runs_a_job() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::in_place_scope(|s| {
            s.spawn(|_| notes.note("job"));
            notes.note("body");
        });
        jobs::in_place_scope_fifo(|s| {
            s.spawn_fifo(|_| notes.note("fifo job"));
            notes.note("fifo body");
        });
        assert_eq!(notes.all(), ["body", "job", "fifo body", "fifo job"]);
    });
}

#[test]
fn a_join_inside_a_scope_leaves_the_scopes_jobs_for_its_end() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::scope(|s| {
            s.spawn(|_| notes.note("job"));
            jobs::join(|| notes.note("a"), || notes.note("b"));
        });
        assert_eq!(notes.all(), ["a", "b", "job"]);
    });
}

#[test]
fn a_worker_starts_what_it_spawned_fifo_in_order() {
    let notes = Arc::new(Notes::default());
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let inside = notes.clone();
    on_workers(1, move || {
        for text in ["one", "two", "three"] {
            let (notes, tell) = (inside.clone(), tell.clone());
            jobs::spawn_fifo(move || {
                notes.note(text);
                drop(notes);
                drop(tell);
            });
        }
        drop((inside, tell));
        // Outside of the worker, so that it gets to its jobs.
    });
    assert!(told.recv().is_err(), "nobody says anything, and all have ended");
    assert_eq!(Arc::into_inner(notes).map(Notes::all), Some(vec!["one", "two", "three"]));
}
