//! Owns: hand-written traces, and the analysis expected of them.
//! May use: `event`, `file`, `log`.
//! Never: an expected figure that was not worked out on paper.

use super::*;
use crate::event::{Event, Freedom, IdleCause, StopReason, pack};
use crate::file::Sample;
use crate::log::tests::Script;

/// For every worker: running + idle by class + overhead = wall.
fn conserved(analysis: &Analysis) {
    for worker in &analysis.workers {
        let idle: u64 = Class::ALL.into_iter().map(|class| worker.idle_ns(class)).sum();
        assert_eq!(
            worker.running_ns + idle + worker.overhead_ns,
            analysis.wall_ns,
            "worker {}",
            worker.number
        );
        let in_gaps: u64 = worker.decades.ns.iter().sum();
        assert_eq!(in_gaps, worker.idle_total_ns());
        assert_eq!(worker.decades.total(), worker.gaps.len() as u64);
        for gap in &worker.gaps {
            assert_eq!(gap.parts.iter().map(|(_, ns)| ns).sum::<u64>(), gap.ns());
        }
    }
}

#[test]
fn time_is_conserved_and_named() {
    let mut script = Script::new(2, 1000);
    // Worker 0 runs thread 1 from 100 to 700; worker 1 idles, gets thread 2 at 400 by a wake at 300, runs it to 600.
    script.switch(0, 100, StopReason::None, 1).put(0, 50, Event::Spawn, 9, 0).wake(0, 300, 2, 1);
    script.switch(0, 700, StopReason::Exit, 0).idle(0, 710, 1000, IdleCause::Stop);
    script.idle(1, 0, 390, IdleCause::Mail).switch(1, 400, StopReason::None, 2);
    script.switch(1, 600, StopReason::Receive, 0).idle(1, 605, 1000, IdleCause::Stop);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    let [zero, one] = &analysis.workers[..] else { panic!("two workers") };
    // Before it ran anything, its OS thread had not started.
    assert_eq!((zero.running_ns, zero.overhead_ns), (600, 10));
    assert_eq!((one.running_ns, one.overhead_ns), (200, 15));
    // Thread 9 was ready from 50 on and nobody took it; from 710 on its own worker had nothing else to do.
    assert_eq!(one.idle_ns(Class::HandOff), 90 + 290);
    assert_eq!(one.idle_ns(Class::Starved), 50);
    assert_eq!(one.idle_ns(Class::Misplaced), 250 + 105);
    assert_eq!(analysis.together_ns, 200);
    assert_eq!(analysis.edges.len(), 1);
    assert_eq!((analysis.edges[0].count, analysis.edges[0].latency_ns), (1, 100));
}

/// A line of stages, each on the other worker than the one before: nearly all is hand-off.
#[test]
fn a_line_across_workers_is_hand_off_and_the_advice_is_segments() {
    let mut script = Script::new(2, 0);
    let mut ns = 1000;
    for thread in 1..=8 {
        script.name(thread, &format!("stage {}", thread - 1));
    }
    let mut idle_since = [0_u64; 2];
    for step in 0..64_u32 {
        let (thread, worker) = (step % 8 + 1, step % 2);
        script.idle(worker, idle_since[worker as usize], ns, IdleCause::Mail);
        script.switch(worker, ns, StopReason::None, thread);
        script.wake(worker, ns + 90, (step + 1) % 8 + 1, ((step + 1) % 2) as u8);
        script.switch(worker, ns + 100, StopReason::Receive, 0);
        idle_since[worker as usize] = ns + 100;
        ns += 5000;
    }
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    let (class, share) = analysis.verdict.worst.expect("it is worth saying");
    assert_eq!(class, Class::HandOff);
    assert!(share > 0.4, "{share}");
    assert_eq!(analysis.verdict.advice, Advice::Segments("stage".to_owned(), vec![(0, 3), (4, 7)]));
    let said = analysis.verdict.to_string();
    assert!(said.contains("% of worker time is hand-off between threads on different workers"), "{said}");
    assert!(said.contains("place stage 0-3 and stage 4-7 together"), "{said}");
}

/// Both workers are busy all the time, and yet each run is there only to wake the other worker's next.
#[test]
fn short_runs_that_wake_across_workers_are_the_cause_even_without_gaps() {
    let mut script = Script::new(2, 0);
    for thread in 1..=8 {
        script.name(thread, &format!("stage {}", thread - 1));
    }
    for step in 0..2000_u32 {
        let (thread, worker, ns) = (step % 8 + 1, step % 2, 1000 + u64::from(step) * 300);
        script.switch(worker, ns, StopReason::Send, thread);
        script.wake(worker, ns + 250, (step + 1) % 8 + 1, ((step + 1) % 2) as u8);
    }
    let mut alone = Script::new(1, 0);
    for step in 0..2000_u32 {
        alone.switch(0, u64::from(step) * 200, StopReason::Send, step % 8 + 1);
    }
    let (alone, across) = (Analysis::of(&alone.log()), Analysis::of(&script.log()));
    conserved(&across);
    assert!(across.verdict.crossed.is_some_and(|share| share > 0.9), "{:?}", across.verdict);
    assert_eq!(across.verdict.advice, Advice::Segments("stage".to_owned(), vec![(0, 3), (4, 7)]));
    let said = diff(&alone, &across).to_string();
    let cause = said.lines().nth(1).unwrap_or_default();
    assert!(cause.starts_with("the cause: hand-off between threads on different workers"), "{said}");
}

#[test]
fn one_long_thread_starves_the_other_worker() {
    let mut script = Script::new(2, 1_000_000);
    script.name(1, "sorter").switch(0, 0, StopReason::None, 1).switch(0, 990_000, StopReason::Exit, 0);
    script.idle(0, 990_000, 1_000_000, IdleCause::Stop).idle(1, 0, 1_000_000, IdleCause::Stop);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert_eq!(analysis.verdict.worst.map(|worst| worst.0), Some(Class::Starved));
    assert_eq!(analysis.verdict.advice, Advice::Split("sorter".to_owned(), 990_000));
    assert_eq!(
        analysis.verdict.to_string(),
        "0.99 of 2 workers busy; 50 % of worker time is idle for lack of ready threads; \
         split sorter, which ran alone for 990 us"
    );
}

#[test]
fn ready_threads_that_nobody_takes_are_misplaced() {
    let mut script = Script::new(2, 1_000_000);
    for thread in 1..=3 {
        script.put(0, 0, Event::Spawn, thread, 0);
    }
    for (thread, ns) in [(1, 1_000), (2, 301_000), (3, 601_000)] {
        script.switch(0, ns, StopReason::Exit, thread);
    }
    script.switch(0, 900_000, StopReason::Exit, 0).idle(0, 900_000, 1_000_000, IdleCause::Stop);
    script.idle(1, 0, 1_000_000, IdleCause::Stop);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert_eq!(analysis.workers[1].idle_ns(Class::Misplaced), 601_000);
    assert_eq!(analysis.verdict.advice, Advice::Migrate);
}

/// Two workers with work for the whole time, of which the kernel gives `took` to others.
fn short_of_cores(took: u64, cores: &'static str) -> Analysis {
    let mut script = Script::new(2, 1_000_000);
    script.about.push(("cores", cores));
    for worker in [0, 1] {
        script.switch(worker, 0, StopReason::None, worker + 1);
        for (ticks, kernel_wait_ns) in [(1000, 70), (900_000, 70 + took)] {
            script.samples.push(Sample { ticks, worker, ready: 1, backlog_ns: 5, kernel_wait_ns });
        }
        script.switch(worker, 1_000_000, StopReason::Exit, 0);
    }
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    analysis
}

#[test]
fn what_the_kernel_took_is_no_running_time() {
    let analysis = short_of_cores(400_000, "1");
    assert_eq!(analysis.workers[0].running_ns, 600_000);
    assert_eq!(analysis.verdict.advice, Advice::FewerWorkers(1));
}

/// With one worker instead of two the work of both, 1.2 ms, would take longer than the 1 ms that it took.
#[test]
fn nobody_is_told_to_use_fewer_workers_where_that_takes_longer() {
    let analysis = short_of_cores(400_000, "2");
    assert_eq!(analysis.verdict.worst.map(|worst| worst.0), Some(Class::Kernel));
    assert_eq!(analysis.verdict.advice, Advice::Elsewhere);
    assert_eq!(short_of_cores(600_000, "2").verdict.advice, Advice::FewerWorkers(1), "0.8 ms");
}

/// One worker does 0.7 ms of work in `alone`; two workers with two thirds of their cores took 1 ms for 0.8 ms.
#[test]
fn a_comparison_advises_fewer_workers_only_if_they_were_no_slower() {
    let advice = |alone: u64| {
        let mut one = Script::new(1, alone);
        one.switch(0, 0, StopReason::None, 1).switch(0, alone, StopReason::Exit, 0);
        diff(&Analysis::of(&one.log()), &short_of_cores(600_000, "2")).advice
    };
    assert_eq!(advice(700_000), Advice::FewerWorkers(1));
    assert_eq!(advice(1_300_000), Advice::Elsewhere);
}

/// occam's stages pass a message to and fro; `run` of the 1000 that each turn takes.
fn of_occam(run: u64, alone: u64) -> (Analysis, Diff) {
    let mut script = Script::new(2, 0);
    script.about.push(("door", "occam"));
    for step in 0..200_u64 {
        let (worker, ns) = ((step % 2) as u32, step * 1000);
        script.put(worker, ns, Event::IdleEnd, IdleCause::Mail as u32, 0);
        script.switch(worker, ns, StopReason::None, worker + 1).wake(worker, ns + 90, 2 - worker, 1);
        script.switch(worker, ns + run, StopReason::MeetToSend, 0);
        script.put(worker, ns + run, Event::IdleBegin, 0, 0);
    }
    let mut one = Script::new(1, alone);
    one.switch(0, 0, StopReason::None, 1).switch(0, alone, StopReason::Exit, 0);
    let two = Analysis::of(&script.log());
    let diff = diff(&Analysis::of(&one.log()), &two);
    (two, diff)
}

#[test]
fn occam_is_told_of_one_worker_only_where_the_figures_say_that_it_is_no_slower() {
    let one = "or use one worker: --workers 1";
    let (short, quick) = of_occam(400, 90_000);
    let said = short.verdict.to_string();
    assert!(said.contains("are too small to be on several workers") && said.contains(one), "{said}");
    assert!(quick.to_string().contains(one), "{quick}");
    let (long, slow) = of_occam(1400, 250_000);
    let said = long.verdict.to_string();
    assert!(said.contains("are too small to be on several workers") && !said.contains(one), "{said}");
    assert!(!slow.to_string().contains(one), "{slow}");
    assert!(!of_occam(400, 250_000).1.to_string().contains(one), "the first trace is of one worker");
}

/// Two workers in turn: one runs for `run` and wakes the other's next, which is on its way for `gap`; for so long of
/// it, the kernel says, the woken OS thread waited for a core.
fn in_turn(run: u64, gap: u64, kernel_wait: u64) -> Analysis {
    let mut script = Script::new(2, 0);
    let (mut ns, mut idle_since, mut waited) = (0, [0_u64; 2], [0_u64; 2]);
    for step in 0..2000_u32 {
        let worker = step % 2;
        let at = worker as usize;
        script.idle(worker, idle_since[at], ns, IdleCause::Mail).switch(
            worker,
            ns,
            StopReason::None,
            worker + 1,
        );
        waited[at] += kernel_wait;
        ns += run;
        script.wake(worker, ns, 2 - worker, 1 - worker as u8).switch(worker, ns, StopReason::Receive, 0);
        idle_since[at] = ns;
        ns += gap;
        if step % 100 > 97 {
            let sample =
                Sample { ticks: ns - gap + 1, worker, ready: 0, backlog_ns: 0, kernel_wait_ns: waited[at] };
            script.samples.push(sample);
        }
    }
    Analysis::of(&script.log())
}

#[test]
fn a_wake_on_a_calm_machine_is_a_hand_off_and_nobody_took_the_core() {
    // Linux counts 17 us of waiting with each wake of a core that sleeps: a fifth of the time here.
    let analysis = in_turn(20_000, 20_000, 17_000);
    conserved(&analysis);
    assert_eq!(analysis.idle_ns(Class::Kernel), 0);
    assert!(analysis.idle_ns(Class::HandOff) > 0);
    assert_eq!(analysis.verdict.kernel, None);
}

#[test]
fn what_the_program_can_change_comes_first_and_the_kernel_beside_it() {
    // A wait of 120 us is 95 more than a wake needs: a quarter of the time, and hand-off and starvation are the rest.
    let analysis = in_turn(20_000, 170_000, 120_000);
    conserved(&analysis);
    let kernel = analysis.verdict.kernel.expect("it is worth saying");
    assert!((0.2..0.3).contains(&kernel), "{kernel}");
    assert!(analysis.verdict.worst.is_some_and(|worst| worst.0 != Class::Kernel), "{:?}", analysis.verdict);
    let said = analysis.verdict.to_string();
    assert!(said.contains("; besides, 2") && said.contains("% was taken by the kernel for others"), "{said}");
}

#[test]
fn small_shares_that_are_much_together_are_worth_saying() {
    let shares = |kernel| {
        move |class| match class {
            Class::HandOff => 0.04,
            Class::Misplaced => 0.03,
            Class::Kernel => kernel,
            Class::Starved | Class::Stealing => 0.01,
            Class::Blocked => 0.0,
        }
    };
    assert_eq!(verdict::worst(shares(0.0)), Some((Class::HandOff, 0.04)));
    assert_eq!(verdict::worst(shares(0.08)), Some((Class::HandOff, 0.04)));
    assert_eq!(verdict::worst(shares(0.10)), Some((Class::Kernel, 0.10)));
    assert_eq!(verdict::worst(|_| 0.008), None);
}

#[test]
fn a_steal_that_ends_a_gap_is_stealing() {
    let mut script = Script::new(2, 1000);
    script.put(0, 400, Event::Spawn, 2, 0).switch(0, 0, StopReason::None, 1);
    script.put(1, 0, Event::IdleBegin, 0, 0).put(1, 490, Event::Steal, 1, 0);
    script.put(1, 495, Event::IdleEnd, IdleCause::Stole as u32, 0).switch(1, 500, StopReason::None, 2);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert_eq!(analysis.steals, 1);
    let gap = &analysis.workers[1].gaps[0];
    assert_eq!(gap.parts, [(Class::Starved, 400), (Class::Stealing, 95)]);
}

#[test]
fn decades_begin_at_powers_of_ten() {
    let places = [0, 9_999, 10_000, 99_999, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    assert_eq!(places.map(Decades::index), [0, 0, 1, 1, 2, 3, 4, 5, 6]);
    assert_eq!([10_000_000_000, u64::MAX].map(Decades::index), [7, 7]);
}

#[test]
fn waits_and_spreads_are_of_what_ran() {
    let mut script = Script::new(1, 1000);
    script.name(1, "part 1").name(2, "part 2");
    script.switch(0, 0, StopReason::None, 1).switch(0, 400, StopReason::Lock, 2);
    script.switch(0, 500, StopReason::Yield, 1).switch(0, 900, StopReason::Exit, 0);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    let wait = &analysis.waits[0];
    assert_eq!((wait.reason, wait.count, wait.waited_ns), (StopReason::Lock, 1, 100));
    let spread = &analysis.spreads[0];
    assert_eq!(
        (spread.label.as_str(), spread.members, spread.least_ns, spread.most_ns),
        ("part", 2, 100, 800)
    );
    assert!((spread.percent() - 87.5).abs() < 1e-9);
}

#[test]
fn who_waited_for_whom_is_by_who_woke_them() {
    let mut script = Script::new(2, 1000);
    script.name(1, "stage 1").name(2, "stage 2").name(3, "source <of \"all\">").name(4, "feeder 4711");
    // Stage 1 waits for the source, twice; then for an OS thread; and for nobody known.
    script.switch(0, 0, StopReason::None, 1).switch(0, 100, StopReason::Receive, 3);
    script.wake(0, 150, 1, 0).switch(0, 200, StopReason::Send, 1).wake(0, 210, 3, 0);
    script.switch(0, 300, StopReason::Receive, 3).wake(0, 400, 1, 0).switch(0, 500, StopReason::Exit, 1);
    script.switch(0, 600, StopReason::Receive, 2).wake_outside(650, 4, 1, 0);
    script.switch(0, 700, StopReason::Receive, 1).switch(0, 900, StopReason::Exit, 0);
    let analysis = Analysis::of(&script.log());
    let waited: Vec<_> =
        analysis.waited.iter().map(|it| (&*it.waiter, &*it.by, it.count, it.waited_ns)).collect();
    assert_eq!(
        waited,
        [
            ("stage", "source <of \"all\">", 2, 150),
            ("stage", "OS thread feeder", 1, 50),
            ("source <of \"all\">", "stage", 1, 10),
        ]
    );
    let picture = crate::view::graph(&analysis);
    assert!(
        picture.contains("2 \u{d7} 75 ns = 150 ns") && picture.contains("source &lt;of &quot;all&quot;&gt;")
    );
    assert!(
        crate::view::graph(&Analysis::of(&Script::new(1, 10).log())).contains("nobody waited for anybody")
    );
}

#[test]
fn a_comparison_names_what_was_added_first() {
    let mut one = Script::new(1, 1000);
    one.switch(0, 0, StopReason::None, 1).switch(0, 1000, StopReason::Exit, 0);
    let mut two = Script::new(2, 1900);
    two.switch(0, 0, StopReason::None, 1).wake(0, 490, 2, 1).switch(0, 500, StopReason::Send, 0);
    two.idle(0, 500, 1900, IdleCause::Stop).idle(1, 0, 1400, IdleCause::Mail);
    two.switch(1, 1400, StopReason::None, 2).switch(1, 1900, StopReason::Exit, 0);
    let diff = diff(&Analysis::of(&one.log()), &Analysis::of(&two.log()));
    // Thread 2 was on its way for 910 ns, and for 900 of them worker 0 had nothing else to run either.
    assert_eq!((diff.changes[0].what, diff.changes[0].more_ns()), (Class::HandOff.words(), 1810));
    assert_eq!(diff.crossing, [0, 1]);
    assert!(diff.to_string().starts_with("1.00 us with 1 workers, 1.90 us with 2: 1.90 times\n"), "{diff}");
}

/// A worker that an OS thread feeds: each time it waits for the way from there.
#[test]
fn what_an_os_thread_wakes_is_its_hand_off_and_no_workers() {
    let mut script = Script::new(2, 10_000);
    script.name(1, "sink").name(2, "feeder 4711");
    for step in 0..5 {
        let begin = step * 2000;
        script.idle(0, begin, begin + 1000, IdleCause::Mail).wake_outside(begin + 100, 2, 1, 0);
        script.switch(0, begin + 1000, StopReason::None, 1).switch(0, begin + 2000, StopReason::Receive, 0);
    }
    script.idle(1, 0, 10_000, IdleCause::Stop);
    let log = script.log();
    let analysis = Analysis::of(&log);
    conserved(&analysis);
    // While the sink is on its way to its worker, the other one has nothing to do either.
    assert_eq!((analysis.idle_ns(Class::HandOff), analysis.idle_ns(Class::Misplaced)), (9000, 0));
    let [edge] = &analysis.edges[..] else { panic!("{:?}", analysis.edges) };
    assert_eq!((edge.from.as_str(), edge.to.as_str(), edge.outside), ("OS thread feeder", "sink", true));
    assert_eq!((edge.count, edge.latency_ns), (5, 4500));
    let said = report(&log, &analysis);
    assert!(
        said.contains(
            "wakes by OS threads that are not workers\n        5 x    900 ns  OS thread feeder -> sink"
        ),
        "{said}"
    );
    assert!(!said.contains("wakes across workers"), "{said}");
}

#[test]
fn who_waits_for_an_os_thread_is_told_to_do_without_it() {
    let mut script = Script::new(2, 10_000);
    script.name(1, "sink").name(2, "main");
    for step in 0..5 {
        let begin = step * 2000;
        script.idle(0, begin, begin + 1900, IdleCause::Mail).wake_outside(begin, 2, 1, 0);
        script.switch(0, begin + 1900, StopReason::None, 1).switch(0, begin + 2000, StopReason::Receive, 0);
    }
    script.switch(1, 0, StopReason::None, 3).switch(1, 4_000, StopReason::Exit, 0);
    let verdict = Analysis::of(&script.log()).verdict;
    assert_eq!(verdict.advice, Advice::Inside("OS thread main".to_owned(), "sink".to_owned()));
    let said = verdict.to_string();
    assert!(
        said.contains("48 % of worker time is hand-off from OS thread main, which is not a worker"),
        "{said}"
    );
}

/// What was on its way to others before is no part of what the kernel could take from this worker.
#[test]
fn the_kernel_takes_from_the_last_of_several_hand_offs_only() {
    let mut script = Script::new(2, 1_000_000);
    script.name(1, "one").name(2, "two").idle(0, 0, 100_000, IdleCause::Mail).idle(
        1,
        0,
        900_000,
        IdleCause::Mail,
    );
    // Thread 1 is on its way to worker 0 for 90 us; later it wakes thread 2, which needs 400 us to worker 1.
    script.wake_outside(10_000, 3, 1, 0).switch(0, 100_000, StopReason::None, 1).wake(0, 500_000, 2, 1);
    script.switch(1, 900_000, StopReason::None, 2).switch(0, 950_000, StopReason::Exit, 0);
    let sample = |ticks, kernel_wait_ns| Sample { ticks, worker: 1, ready: 0, backlog_ns: 0, kernel_wait_ns };
    script.samples = vec![sample(0, 0), sample(1_000_000, 475_000)];
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    let one = &analysis.workers[1];
    // 450 of the 475 us, but for the wake's own 25: of 400 on the way and 100 running.
    assert_eq!((one.idle_ns(Class::HandOff), one.idle_ns(Class::Kernel)), (90_000 + 40_000, 450_000));
}

/// Threads that run for a short time and yield, and one wake, which crosses.
#[test]
fn few_wakes_that_all_cross_are_no_cause() {
    let mut script = Script::new(2, 0);
    for step in 0..2000_u32 {
        let (worker, ns) = (step % 2, u64::from(step) * 300);
        script.switch(worker, ns, StopReason::Yield, worker * 2 + step / 2 % 2 + 1);
    }
    script.wake(0, 150_100, 9, 1).switch(1, 600_100, StopReason::Yield, 9).switch(
        1,
        600_200,
        StopReason::Exit,
        0,
    );
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert_eq!((analysis.edges.len(), analysis.verdict.crossed), (1, None));
}

/// A producer makes an item each 30 us, and its consumer, which takes 5 us for one, is woken on the other worker each
/// time: after `latency`.
fn produced(latency: u64) -> Analysis {
    let mut script = Script::new(2, 0);
    script.name(1, "producer").name(2, "consumer").switch(0, 0, StopReason::None, 1);
    let mut idle_since = 0;
    for item in 1..=2000 {
        let ns = item * 30_000;
        script.wake(0, ns, 2, 1).idle(1, idle_since, ns + latency, IdleCause::Mail);
        script.switch(1, ns + latency, StopReason::None, 2);
        script.switch(1, ns + latency + 5_000, StopReason::Receive, 0);
        idle_since = ns + latency + 5_000;
    }
    // It closes the channel, and ends.
    script.switch(0, 2002 * 30_000, StopReason::Exit, 0);
    Analysis::of(&script.log())
}

/// However the idle time is divided between the production of an item and the wake for it: it is the producer's.
#[test]
fn who_waits_for_a_producer_is_told_so_however_long_the_wakes_take() {
    for latency in [1_000, 12_000, 24_000] {
        let analysis = produced(latency);
        conserved(&analysis);
        let verdict = &analysis.verdict;
        let expected = (Some(Class::Starved), Advice::Split("producer".to_owned(), 0));
        let advice = match &verdict.advice {
            Advice::Split(name, _) => Advice::Split(name.clone(), 0),
            other => other.clone(),
        };
        assert_eq!((verdict.worst.map(|worst| worst.0), advice), expected, "{latency}: {verdict}");
        assert_eq!(analysis.ends[0].0, "a wake by producer");
    }
}

/// `main` spawns pieces of 400 ns, which the other worker steals; how often, is left to chance.
#[test]
fn pieces_that_are_too_fine_are_told_apart_from_a_long_thread() {
    for stolen_of_four in [1, 3] {
        let mut script = Script::new(2, 0);
        script.name(1, "main").switch(0, 0, StopReason::None, 1);
        let mut idle_since = 0;
        for piece in 0..1000_u32 {
            let (thread, ns) = (piece + 2, u64::from(piece) * 2_000);
            script.put(0, ns + 100, Event::Spawn, thread, 0);
            if piece % 4 < stolen_of_four {
                script.put(1, idle_since, Event::IdleBegin, 0, 0).put(1, ns + 900, Event::Steal, 1, 0);
                script.put(1, ns + 1000, Event::IdleEnd, IdleCause::Stole as u32, 0);
                script.switch(1, ns + 1000, StopReason::None, thread).switch(
                    1,
                    ns + 1400,
                    StopReason::Exit,
                    0,
                );
                idle_since = ns + 1400;
            } else {
                script.switch(0, ns + 1000, StopReason::Yield, thread).switch(
                    0,
                    ns + 1400,
                    StopReason::Exit,
                    1,
                );
            }
        }
        script.switch(0, 2_000_000, StopReason::Exit, 0);
        let verdict = Analysis::of(&script.log()).verdict;
        assert_eq!(verdict.advice, Advice::Larger("main".to_owned(), 1000, 400), "{verdict}");
        assert_eq!(verdict.cause(), "stealing: larger pieces");
    }
}

/// The kernel took more than all that was idle; but to end others would change little.
#[test]
fn small_pieces_are_told_also_beside_other_programs() {
    let mut script = Script::new(2, 2_000_000);
    script.name(1, "main").name(5000, "other").switch(0, 0, StopReason::None, 1);
    for piece in 0..1000_u32 {
        let (thread, ns) = (piece + 2, u64::from(piece) * 2_000);
        script.put(0, ns + 100, Event::Spawn, thread, 0);
        script.switch(0, ns + 1000, StopReason::Yield, thread).switch(0, ns + 1400, StopReason::Exit, 1);
    }
    script.switch(0, 2_000_000, StopReason::Exit, 0).switch(1, 0, StopReason::None, 5000);
    script.switch(1, 1_680_000, StopReason::Exit, 0).idle(1, 1_680_000, 2_000_000, IdleCause::Stop);
    for (ticks, kernel_wait_ns) in [(1000, 70), (1_600_000, 400_070)] {
        script.samples.push(Sample { ticks, worker: 1, ready: 0, backlog_ns: 0, kernel_wait_ns });
    }
    let verdict = Analysis::of(&script.log()).verdict;
    assert!(verdict.kernel.is_some(), "{verdict}");
    assert_eq!(verdict.cause(), "stealing: larger pieces", "{verdict}");
}

/// Two that wait for a millisecond each, again and again, and one that nobody has anything for.
fn two_that_wait(why: StopReason) -> Verdict {
    let mut script = Script::new(2, 4_060_000);
    script.name(1, "ticker 1").name(2, "ticker 2");
    for round in 0..4 {
        let ns = round * 1_000_000;
        let before = if round == 0 { StopReason::None } else { why };
        for thread in [1, 2] {
            let begin = ns + u64::from(thread) * 10_000;
            script.wake(0, begin - 1_000, thread, 0).switch(0, begin, before, thread);
            script.switch(0, begin + 10_000, why, 0);
        }
        script.idle(0, ns + 30_000, ns + 1_009_000, IdleCause::Own);
    }
    script.idle(1, 0, 4_060_000, IdleCause::Stop);
    Analysis::of(&script.log()).verdict
}

#[test]
fn who_sleeps_until_a_time_comes_is_not_told_to_have_more_work() {
    let verdict = two_that_wait(StopReason::Sleep);
    assert_eq!(verdict.advice, Advice::Time("ticker".to_owned()), "{verdict}");
    assert_eq!(verdict.cause(), "starved: waits for time");
}

/// The same of those who wait for what their peers send.
#[test]
fn who_waits_for_descriptors_is_told_that_its_peers_take_long() {
    let verdict = two_that_wait(StopReason::Descriptor);
    assert_eq!(verdict.advice, Advice::Peer("ticker".to_owned()), "{verdict}");
    assert_eq!(verdict.cause(), "starved: waits for peers");
}

/// Each item that ends wakes the one who counts them, on an idle worker, which comes late. Came it at once, the items
/// would still wait for each other on the one worker on which they were placed.
#[test]
fn hand_offs_beside_a_queue_on_another_worker_are_not_the_cause() {
    let mut script = Script::new(2, 461_000);
    script.name(9, "main").switch(1, 0, StopReason::None, 9).switch(1, 1_000, StopReason::Join, 0);
    for item in 1..=4_u32 {
        let (begin, ran) = (u64::from(item - 1) * 100_000, u64::from(item) * 100_000 + 60_000);
        script.name(item, &format!("item {item}"));
        script.put(0, 0, Event::Spawn, item, pack(0, Freedom::Placed as u32));
        let before = if item == 1 { StopReason::None } else { StopReason::Exit };
        script.switch(0, begin, before, item).wake(0, begin + 99_900, 9, 1);
        let since = if item == 1 { 1_000 } else { ran - 99_000 };
        script.idle(1, since, ran, IdleCause::Mail);
        script.switch(1, ran, StopReason::None, 9).switch(1, ran + 1_000, StopReason::Join, 0);
    }
    script.switch(0, 400_000, StopReason::Exit, 0).idle(0, 400_000, 461_000, IdleCause::Stop);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert!(analysis.idle_ns(Class::HandOff) > analysis.idle_ns(Class::Misplaced), "{}", analysis.verdict);
    assert_eq!(analysis.verdict.cause(), "misplaced: spread item", "{}", analysis.verdict);
}

#[test]
fn three_of_four_on_one_worker_are_placed_unevenly() {
    let mut script = Script::new(2, 900_000);
    for item in 1..=12_u32 {
        script.name(item, &format!("item {item}"));
        let worker = u32::from(item > 9);
        script.put(0, 0, Event::Spawn, item, pack(worker as u8, Freedom::Placed as u32));
        let turn = if worker == 0 { item - 1 } else { item - 10 };
        let before = if turn == 0 { StopReason::None } else { StopReason::Exit };
        script.switch(worker, u64::from(turn) * 100_000, before, item);
    }
    script.switch(0, 900_000, StopReason::Exit, 0).switch(1, 300_000, StopReason::Exit, 0);
    script.idle(1, 300_000, 900_000, IdleCause::Stop);
    let verdict = Analysis::of(&script.log()).verdict;
    assert_eq!(verdict.advice, Advice::Spread("item".to_owned()), "{verdict}");
}

/// Two equal groups, of which now one thread and now another one is the last: what is to be split is their label.
#[test]
fn a_static_split_is_told_by_its_label_whichever_thread_is_the_last() {
    let mut script = Script::new(2, 100_000);
    for thread in 1..=4 {
        script.name(thread, &format!("part {thread}"));
    }
    script.switch(0, 0, StopReason::None, 1).switch(0, 40_000, StopReason::Exit, 2);
    script.switch(0, 100_000, StopReason::Exit, 0);
    script.switch(1, 0, StopReason::None, 3).switch(1, 10_000, StopReason::Exit, 0);
    script.idle(1, 10_000, 100_000, IdleCause::Stop);
    let verdict = Analysis::of(&script.log()).verdict;
    assert_eq!(verdict.advice, Advice::Split("part".to_owned(), 90_000), "{verdict}");
}

/// The consumer waits for its turn on the producer's worker, beside an idle one, which steals it in the end: were it
/// stolen at once, the program would take as long as its producer all the same.
#[test]
fn a_consumer_on_its_producers_worker_waits_for_the_producer() {
    let mut script = Script::new(2, 0);
    script.name(1, "producer").name(2, "consumer").put(1, 0, Event::IdleBegin, 0, 0);
    let mut ns = 0;
    for item in 0..500 {
        script.switch(0, ns, if item == 0 { StopReason::None } else { StopReason::Receive }, 1);
        script.wake(0, ns + 30_000, 2, 0).switch(0, ns + 120_000, StopReason::Send, 2);
        script.wake(0, ns + 130_000, 1, 0);
        ns += 140_000;
    }
    script.switch(0, ns, StopReason::Receive, 1).wake(0, ns + 30_000, 2, 0);
    script.put(1, ns + 40_000, Event::Steal, 1, 0).switch(0, ns + 50_000, StopReason::Exit, 0);
    script.put(1, ns + 41_000, Event::IdleEnd, IdleCause::Stole as u32, 0);
    script.switch(1, ns + 41_000, StopReason::None, 2).switch(1, ns + 50_000, StopReason::Exit, 0);
    let analysis = Analysis::of(&script.log());
    conserved(&analysis);
    assert_eq!(analysis.verdict.cause(), "starved: split producer", "{}", analysis.verdict);
}

/// Two threads that run for 100 us each, one after the other; and on two workers at once, as long as `each`.
fn counted_together(each: u64) -> String {
    let mut one = Script::new(1, 200_000);
    one.name(1, "counter 1").name(2, "counter 2").switch(0, 0, StopReason::None, 1);
    one.switch(0, 100_000, StopReason::Exit, 2).switch(0, 200_000, StopReason::Exit, 0);
    let mut two = Script::new(2, each);
    two.name(1, "counter 1").name(2, "counter 2");
    for worker in [0, 1] {
        two.switch(worker, 0, StopReason::None, worker + 1).switch(worker, each, StopReason::Exit, 0);
    }
    diff(&Analysis::of(&one.log()), &Analysis::of(&two.log())).to_string()
}

#[test]
fn work_that_takes_longer_on_two_cores_is_told_so() {
    let said = counted_together(270_000);
    let expected =
        "the same work took 2.7 times as long, above all counter: shared cache lines or memory bandwidth";
    assert!(said.lines().nth(1).is_some_and(|line| line.starts_with(expected)), "{said}");
    let said = counted_together(110_000);
    assert!(!said.contains("the same work"), "{said}");
}
