//! Owns: every bound that Raddle must keep, by what it is about.
//! May use: the kinds of requirements.
//! Never: a bound because it is reached; what is missed stands here, too.
//!
//! What a row of the default asks is what its design must reach. What was asked of light processes when they were the
//! default (0.15 of Go) is asked of light ones now: those of the default switch between storages, at most 12 ns of it
//! a switch.

use super::{Requirement, Select, less, of, ratio, value, worst};

const RADDLE: Select = of("raddle", 1);
const RADDLE_TWO: Select = of("raddle", 2);
const LIGHT: Select = of("light", 1);
const LIGHT_TWO: Select = of("light", 2);
const GO: Select = of("go", 1);
const GO_TWO: Select = of("go", 2);
const OCCAM: Select = of("occam", 1);
const OCCAM_TWO: Select = of("occam", 2);
const RAYON: Select = of("rayon", 1);
const RAYON_TWO: Select = of("rayon", 2);

const TREE: &str = "leaves=100000,children=10";

/// The table, in parts.
pub const REQUIREMENTS: &[&[Requirement]] = &[CORE, SWITCHES, TALK, CONTENTION, RIVALS, SPREAD];

/// The core's speed and memory, and those of what is built on it.
const CORE: &[Requirement] = &[
    ratio("tree", RADDLE.with(TREE), GO.with(TREE), 0.3),
    ratio("tree", RADDLE_TWO.with(TREE), RADDLE.with(TREE), 0.6),
    value("tree", RADDLE.with(TREE), 260.0),
    ratio(
        "alive",
        RADDLE.with("count=1000000,kind=process").metric("net_create_ns"),
        RADDLE.with("count=1000,kind=process").metric("net_create_ns"),
        1.3,
    ),
    value("alive", RADDLE.with("count=100000,kind=process").metric("resident_bytes"), 6000.0),
    value("alive", LIGHT.with("count=100000,kind=process").metric("resident_bytes"), 4400.0),
    value("alive", LIGHT.with("count=1000000,kind=process").metric("resident_bytes"), 4400.0),
    value("alive", RADDLE.with("count=100000,kind=task").metric("resident_bytes"), 256.0),
    value("alive", RADDLE.with("count=1000000,kind=task").metric("resident_bytes"), 256.0),
    ratio("thread_yield2", RADDLE, GO, 0.3),
    ratio("thread_yield1000", RADDLE, GO, 0.3),
    ratio("thread_create", RADDLE, GO, 0.6),
    ratio("thread_create", RADDLE_TWO, of("std", 2), 0.02),
    value("thread_alive", RADDLE.with("count=100000").metric("resident_bytes"), 10_000.0),
    value("migrate", RADDLE_TWO, 1000.0),
    ratio("started", RADDLE_TWO, RADDLE, 0.55),
    value("started", RADDLE_TWO, 20.0),
    value("handoff", RADDLE, 40.0),
    ratio("wake", RADDLE.with("from=os"), RADDLE.with("from=os").metric("futex_ns"), 1.2),
    ratio("pingpong", RADDLE_TWO, of("floor", 2), 3.0),
    ratio("line2000", RADDLE_TWO.with("messages=1,segments=0"), RADDLE.with("messages=1"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=500,segments=0"), RADDLE.with("messages=500"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=2000,segments=0"), RADDLE.with("messages=2000"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=100000,segments=0"), RADDLE.with("messages=100000"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=100000,segments=2"), RADDLE.with("messages=100000"), 0.65),
    ratio("granularity", RADDLE_TWO.with("grain=1"), RADDLE.with("grain=1"), 0.6),
    ratio("granularity", RADDLE_TWO.with("grain=1000"), RADDLE.with("grain=1000"), 0.53),
    ratio("alternation", RADDLE.with("channels=2"), GO.with("channels=2"), 0.3),
    ratio("alternation", RADDLE.with("channels=8"), GO.with("channels=8"), 0.3),
    ratio("alternation", RADDLE.with("channels=64"), GO.with("channels=64"), 0.3),
    ratio("independent", RADDLE_TWO.with("form=a"), RADDLE.with("form=a"), 0.53),
    ratio("independent", RADDLE_TWO.with("form=b"), RADDLE.with("form=b"), 0.55),
    ratio("independent", RADDLE_TWO.with("form=c"), RADDLE.with("form=c"), 0.55),
    ratio("mutex", RADDLE, of("std", 1), 1.0),
    ratio("mutex", RADDLE, of("parking_lot", 1), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=2"), of("std", 2).with("threads=2"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=2"), of("parking_lot", 2).with("threads=2"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=64"), of("std", 2).with("threads=64"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=64"), of("parking_lot", 2).with("threads=64"), 1.0),
    ratio("futex", RADDLE.with("form=nobody"), of("kernel", 1).with("form=nobody"), 0.2),
    ratio("futex", RADDLE.with("form=nobody"), of("parking_lot", 1).with("form=nobody"), 1.0),
    ratio("futex", RADDLE.with("form=pair"), of("kernel", 1).with("form=pair"), 0.2),
    ratio("futex", RADDLE.with("form=pair"), of("parking_lot", 1).with("form=pair"), 0.2),
    ratio("queue_lock", RADDLE.with("lock=mcs"), RADDLE.with("lock=spin"), 1.3),
    ratio("queue_lock", RADDLE.with("lock=clh"), RADDLE.with("lock=spin"), 1.3),
    ratio("queue_lock", RADDLE_TWO.with("lock=mcs,threads=64"), RADDLE_TWO.with("lock=mcs,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=clh,threads=64"), RADDLE_TWO.with("lock=clh,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=mcs,threads=1000"), RADDLE_TWO.with("lock=mcs,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=clh,threads=1000"), RADDLE_TWO.with("lock=clh,threads=2"), 2.0),
    ratio("rendezvous", RADDLE, GO, 0.3),
    ratio("select", RADDLE.with("form=ready,width=2"), GO.with("form=ready,width=2"), 0.3),
    ratio("select", RADDLE.with("form=ready,width=8"), GO.with("form=ready,width=8"), 0.3),
    ratio("select", RADDLE.with("form=ready,width=64"), GO.with("form=ready,width=64"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=2"), GO.with("form=wait,width=2"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=8"), GO.with("form=wait,width=8"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=64"), GO.with("form=wait,width=64"), 0.3),
    value("commstime_seq", OCCAM, 30.0),
    value("commstime_par", OCCAM, 37.5),
    ratio("commstime_seq", OCCAM, GO, 0.3),
    ratio("commstime_par", OCCAM, GO, 0.3),
    ratio("commstime_seq", OCCAM_TWO, OCCAM, 1.05),
    ratio("commstime_par", OCCAM_TWO, OCCAM, 1.05),
    value("ring", OCCAM, 45.0),
    ratio("ring", OCCAM_TWO, OCCAM, 1.05),
    value("pair", OCCAM, 150.0),
    value("update", OCCAM, 30.0),
    value("crowd", OCCAM.metric("resident_bytes"), 120.0),
    ratio("granularity", OCCAM_TWO.with("grain=1"), OCCAM.with("grain=1"), 0.6),
    ratio("granularity", OCCAM_TWO.with("grain=1000"), OCCAM.with("grain=1000"), 0.53),
    value("check", OCCAM, 2000.0),
    ratio("check_wide", OCCAM.with("branches=16000"), OCCAM.with("branches=2000"), 1.5),
    value("idle", RADDLE, 0.05),
    value("idle", RADDLE_TWO, 0.05),
    ratio("fib", RADDLE, of("chili", 1), 1.0),
    ratio("fib", RADDLE_TWO, of("chili", 2), 1.0),
    ratio("fib", RADDLE, of("rayon", 1), 0.35),
    ratio("fib", RADDLE_TWO, of("rayon", 2), 0.35),
    value("flat", RADDLE.with("batch=250,kind=future"), 6.0),
    value("flat", RADDLE_TWO.with("batch=250,kind=future"), 6.0),
    value("flat", RADDLE.with("batch=1000000,kind=future"), 6.0),
    value("flat", RADDLE_TWO.with("batch=1000000,kind=future"), 6.0),
    ratio("flat", RADDLE.with("batch=250,kind=future"), RADDLE.with("kind=process"), 0.2),
    ratio("flat", RADDLE.with("batch=250,kind=future"), RADDLE.with("kind=thread"), 0.025),
    ratio("leaves", RADDLE_TWO, RADDLE, 0.5263),
    ratio("trace_event", RADDLE.with("form=record"), RADDLE.with("form=stamp"), 1.15),
];

/// What a process with storage of its own may cost (pingpong: a round trip has two switches), and what a light one.
const SWITCHES: &[Requirement] = &[
    less("yield2", RADDLE, LIGHT, 12.0),
    less("yield1000", RADDLE, LIGHT, 12.0),
    less("handoff", RADDLE, LIGHT, 12.0),
    less("chain", RADDLE, LIGHT, 12.0),
    less("pingpong", RADDLE, LIGHT, 24.0),
    less("create_join", RADDLE, LIGHT, 35.0),
    less("create255", RADDLE, LIGHT, 35.0),
    value("create_join", RADDLE, 70.0),
    value("yield2", RADDLE, 27.0),
    value("pingpong", RADDLE, 60.0),
    value("commstime_seq", RADDLE, 28.0),
    value("line2000", RADDLE.with("messages=500,segments=0"), 32.0),
    value("granularity", RADDLE.with("packets=64,grain=1"), 110.0),
    ratio("yield2", RADDLE, GO, 0.3),
    ratio("yield1000", RADDLE, GO, 0.3),
    ratio("create_join", RADDLE, GO, 0.3),
    ratio("create255", RADDLE, GO, 0.3),
    ratio("pingpong", RADDLE, GO, 0.3),
    ratio("commstime_seq", RADDLE, GO, 0.3),
    ratio("commstime_par", RADDLE, GO, 0.3),
    ratio("line2000", RADDLE.with("messages=500,segments=0"), GO.with("messages=500"), 0.3),
    ratio("granularity", RADDLE.with("packets=64,grain=1"), GO.with("packets=64,grain=1"), 0.3),
    ratio("granularity", RADDLE_TWO.with("packets=64,grain=1"), GO_TWO.with("packets=64,grain=1"), 0.3),
    ratio("yield2", LIGHT, GO, 0.15),
    ratio("yield1000", LIGHT, GO, 0.15),
    ratio("create_join", LIGHT, GO, 0.15),
    ratio("create255", LIGHT, GO, 0.2),
    ratio("pingpong", LIGHT, GO, 0.15),
    ratio("commstime_seq", LIGHT, GO, 0.15),
    ratio("commstime_par", LIGHT, GO, 0.15),
    ratio("line2000", LIGHT.with("messages=500,segments=0"), GO.with("messages=500"), 0.15),
    ratio("granularity", LIGHT.with("packets=64,grain=1"), GO.with("packets=64,grain=1"), 0.2),
    ratio("granularity", LIGHT_TWO.with("packets=64,grain=1"), GO_TWO.with("packets=64,grain=1"), 0.2),
];

/// What talks comes together: two workers take no longer than one, and 1.2 of it in the worst run.
const TALK: &[Requirement] = &[
    ratio("chain", RADDLE_TWO, RADDLE, 1.05),
    worst("chain", RADDLE_TWO, RADDLE, 1.2),
    worst("chain", LIGHT_TWO, LIGHT, 1.2),
    ratio("commstime_seq", RADDLE_TWO, RADDLE, 1.05),
    worst("commstime_seq", RADDLE_TWO, RADDLE, 1.2),
    worst("commstime_seq", LIGHT_TWO, LIGHT, 1.2),
    ratio("commstime_par", RADDLE_TWO, RADDLE, 1.05),
    worst("commstime_par", RADDLE_TWO, RADDLE, 1.2),
    worst("commstime_par", LIGHT_TWO, LIGHT, 1.2),
    worst(
        "line2000",
        RADDLE_TWO.with("messages=500,segments=0"),
        RADDLE.with("messages=500,segments=0"),
        1.2,
    ),
    worst("line2000", LIGHT_TWO.with("messages=500,segments=0"), LIGHT.with("messages=500,segments=0"), 1.2),
    ratio("rendezvous", RADDLE_TWO, RADDLE, 1.05),
    worst("rendezvous", RADDLE_TWO, RADDLE, 1.2),
    worst("rendezvous", LIGHT_TWO, LIGHT, 1.2),
    ratio("alternation", RADDLE_TWO.with("channels=2"), RADDLE.with("channels=2"), 1.05),
    worst("alternation", RADDLE_TWO.with("channels=2"), RADDLE.with("channels=2"), 1.2),
    worst("alternation", LIGHT_TWO.with("channels=2"), LIGHT.with("channels=2"), 1.2),
    ratio("alternation", RADDLE_TWO.with("channels=8"), RADDLE.with("channels=8"), 1.05),
    worst("alternation", RADDLE_TWO.with("channels=8"), RADDLE.with("channels=8"), 1.2),
    worst("alternation", LIGHT_TWO.with("channels=8"), LIGHT.with("channels=8"), 1.2),
    ratio("alternation", RADDLE_TWO.with("channels=64"), RADDLE.with("channels=64"), 1.05),
    worst("alternation", RADDLE_TWO.with("channels=64"), RADDLE.with("channels=64"), 1.2),
    worst("alternation", LIGHT_TWO.with("channels=64"), LIGHT.with("channels=64"), 1.2),
    ratio("select", RADDLE_TWO.with("form=wait,width=2"), RADDLE.with("form=wait,width=2"), 1.05),
    worst("select", RADDLE_TWO.with("form=wait,width=2"), RADDLE.with("form=wait,width=2"), 1.2),
    worst("select", LIGHT_TWO.with("form=wait,width=2"), LIGHT.with("form=wait,width=2"), 1.2),
    ratio("select", RADDLE_TWO.with("form=wait,width=8"), RADDLE.with("form=wait,width=8"), 1.05),
    worst("select", RADDLE_TWO.with("form=wait,width=8"), RADDLE.with("form=wait,width=8"), 1.2),
    worst("select", LIGHT_TWO.with("form=wait,width=8"), LIGHT.with("form=wait,width=8"), 1.2),
    ratio("select", RADDLE_TWO.with("form=wait,width=64"), RADDLE.with("form=wait,width=64"), 1.05),
    worst("select", RADDLE_TWO.with("form=wait,width=64"), RADDLE.with("form=wait,width=64"), 1.2),
    worst("select", LIGHT_TWO.with("form=wait,width=64"), LIGHT.with("form=wait,width=64"), 1.2),
];

/// What contends: Go's median on two workers, and in the worst run 1.3 of its own, there and on one worker.
const CONTENTION: &[Requirement] = &[
    ratio(
        "flow",
        RADDLE_TWO.with("ends=1,width=8,capacity=64"),
        GO_TWO.with("ends=1,width=8,capacity=64"),
        1.0,
    ),
    worst(
        "flow",
        RADDLE_TWO.with("ends=1,width=8,capacity=64"),
        RADDLE_TWO.with("ends=1,width=8,capacity=64"),
        1.3,
    ),
    worst(
        "flow",
        RADDLE_TWO.with("ends=1,width=8,capacity=64"),
        RADDLE.with("ends=1,width=8,capacity=64"),
        1.3,
    ),
    ratio(
        "flow",
        RADDLE_TWO.with("ends=8,width=1,capacity=1000000"),
        GO_TWO.with("ends=8,width=1,capacity=1000000"),
        1.0,
    ),
    worst(
        "flow",
        RADDLE_TWO.with("ends=8,width=1,capacity=1000000"),
        RADDLE_TWO.with("ends=8,width=1,capacity=1000000"),
        1.3,
    ),
    worst(
        "flow",
        RADDLE_TWO.with("ends=8,width=1,capacity=1000000"),
        RADDLE.with("ends=8,width=1,capacity=1000000"),
        1.3,
    ),
    ratio("mutex", RADDLE_TWO.with("threads=64"), GO_TWO.with("threads=64"), 1.0),
    worst("mutex", RADDLE_TWO.with("threads=64"), RADDLE_TWO.with("threads=64"), 1.3),
    worst("mutex", RADDLE_TWO.with("threads=64"), RADDLE.with("threads=64"), 1.3),
    ratio(
        "rwlock",
        RADDLE_TWO.with("threads=64,rounds=100000"),
        GO_TWO.with("threads=64,rounds=100000"),
        1.0,
    ),
    worst(
        "rwlock",
        RADDLE_TWO.with("threads=64,rounds=100000"),
        RADDLE_TWO.with("threads=64,rounds=100000"),
        1.3,
    ),
    worst(
        "rwlock",
        RADDLE_TWO.with("threads=64,rounds=100000"),
        RADDLE.with("threads=64,rounds=100000"),
        1.3,
    ),
    ratio(
        "rwlock",
        RADDLE_TWO.with("threads=64,rounds=6400000"),
        GO_TWO.with("threads=64,rounds=6400000"),
        1.0,
    ),
    worst(
        "rwlock",
        RADDLE_TWO.with("threads=64,rounds=6400000"),
        RADDLE_TWO.with("threads=64,rounds=6400000"),
        1.3,
    ),
];

/// What shall be no slower than a rival's.
const RIVALS: &[Requirement] = &[
    ratio("loops", RADDLE.with("form=for,count=1000000"), RAYON.with("form=for,count=1000000"), 1.0),
    ratio("loops", RADDLE_TWO.with("form=for,count=1000000"), RAYON_TWO.with("form=for,count=1000000"), 1.0),
    ratio("loops", RADDLE.with("form=each,count=1000000"), RAYON.with("form=each,count=1000000"), 1.0),
    ratio(
        "loops",
        RADDLE_TWO.with("form=each,count=1000000"),
        RAYON_TWO.with("form=each,count=1000000"),
        1.0,
    ),
    ratio("loops", RADDLE.with("form=map,count=1000000"), RAYON.with("form=map,count=1000000"), 1.0),
    ratio("loops", RADDLE_TWO.with("form=map,count=1000000"), RAYON_TWO.with("form=map,count=1000000"), 1.0),
    ratio(
        "loops",
        RADDLE.with("form=map,count=1000,steps=0"),
        RAYON.with("form=map,count=1000,steps=0"),
        1.0,
    ),
    ratio(
        "loops",
        RADDLE_TWO.with("form=map,count=1000,steps=0"),
        RAYON_TWO.with("form=map,count=1000,steps=0"),
        1.0,
    ),
    ratio(
        "loops",
        RADDLE.with("form=for,count=10000,steps=1000"),
        RAYON.with("form=for,count=10000,steps=1000"),
        1.0,
    ),
    ratio(
        "loops",
        RADDLE_TWO.with("form=for,count=10000,steps=1000"),
        RAYON_TWO.with("form=for,count=10000,steps=1000"),
        1.0,
    ),
    ratio(
        "loops",
        RADDLE.with("form=map,count=10000,steps=1000"),
        RAYON.with("form=map,count=10000,steps=1000"),
        1.0,
    ),
    ratio(
        "loops",
        RADDLE_TWO.with("form=map,count=10000,steps=1000"),
        RAYON_TWO.with("form=map,count=10000,steps=1000"),
        1.0,
    ),
    ratio("rwlock", RADDLE.with("threads=64,rounds=100000"), GO.with("threads=64,rounds=100000"), 1.0),
    ratio("latency", RADDLE, GO, 1.0),
    ratio("latency", RADDLE_TWO, GO_TWO, 1.0),
    ratio("latency", RADDLE.metric("p99_ns"), GO.metric("p99_ns"), 1.0),
    ratio("latency", RADDLE_TWO.metric("p99_ns"), GO_TWO.metric("p99_ns"), 1.0),
    ratio(
        "alive",
        RADDLE_TWO.with("count=1000000,kind=process"),
        GO_TWO.with("count=1000000,kind=process"),
        1.5,
    ),
];

/// What does not talk spreads, and many workers or processes take no more than few.
const SPREAD: &[Requirement] = &[
    value("crowd", OCCAM, 130.0),
    ratio("crowd", OCCAM_TWO, OCCAM, 1.05),
    ratio("granularity", OCCAM_TWO.with("packets=512"), OCCAM.with("packets=512"), 1.05),
    ratio("oversubscribed", of("raddle", 4).with("grain=1"), RADDLE_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("raddle", 8).with("grain=1"), RADDLE_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("light", 4).with("grain=1"), LIGHT_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("light", 8).with("grain=1"), LIGHT_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("occam", 4).with("grain=1"), OCCAM_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("occam", 8).with("grain=1"), OCCAM_TWO.with("grain=1"), 1.1),
    ratio("oversubscribed", of("raddle", 4).with("grain=1000"), RADDLE_TWO.with("grain=1000"), 1.1),
    ratio("oversubscribed", of("raddle", 8).with("grain=1000"), RADDLE_TWO.with("grain=1000"), 1.1),
    ratio("oversubscribed", of("light", 4).with("grain=1000"), LIGHT_TWO.with("grain=1000"), 1.1),
    ratio("oversubscribed", of("light", 8).with("grain=1000"), LIGHT_TWO.with("grain=1000"), 1.1),
    ratio("oversubscribed", of("occam", 4).with("grain=1000"), OCCAM_TWO.with("grain=1000"), 1.1),
    ratio("oversubscribed", of("occam", 8).with("grain=1000"), OCCAM_TWO.with("grain=1000"), 1.1),
];
