//! Owns: the table of benchmarks: names, programs, parameters, on which runtimes, and the checksum each must print.
//! May use: `raddle_measure::work` for checksums.
//! Never: requirements; those are in [`crate::requirements`].
//!
//! The command line, the sessions and the reports derive from this table. A benchmark names a *program* (a folder
//! of `bench/`); several benchmarks may be one program with other parameters. Runtimes that have no processes
//! (rayon, chili) stand where what they have instead is comparable, and each program says what it does instead.

use raddle_measure::work::burned;

use crate::cell::Params;

/// One benchmark.
pub struct Bench {
    pub name: &'static str,
    /// The folder of its programs.
    pub program: &'static str,
    pub what: &'static str,
    /// Unit of the main figure.
    pub unit: &'static str,
    /// Side figures and their units; a program may leave some out.
    pub extra: &'static [(&'static str, &'static str)],
    pub variants: &'static [Variant],
    /// The runtimes, each with its numbers of workers.
    pub runtimes: &'static [(&'static str, &'static [usize])],
    /// Samples that a program takes in one process.
    pub samples: usize,
    /// At most this many rounds.
    pub runs_max: usize,
    /// The checksum that a program must print.
    pub checksum: fn(&Params<'_>) -> u64,
}

/// Parameters of a benchmark, and for whom.
pub struct Variant {
    params: &'static str,
    when: When,
    /// Only for these runtimes (empty: all).
    runtimes: &'static [&'static str],
    /// Only with these numbers of workers (empty: all).
    workers: &'static [usize],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Full,
    Quick,
}

impl Bench {
    /// The parameters with which `runtime` runs on `workers` workers.
    pub fn params(&self, runtime: &str, workers: usize, quick: bool) -> Vec<&'static str> {
        let when = if quick { When::Quick } else { When::Full };
        let wanted = |variant: &&Variant| {
            (variant.when == When::Always || variant.when == when)
                && (variant.runtimes.is_empty() || variant.runtimes.contains(&runtime))
                && (variant.workers.is_empty() || variant.workers.contains(&workers))
        };
        self.variants.iter().filter(wanted).map(|variant| variant.params).collect()
    }

    /// Name and unit of every figure; the main one has the empty name.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        std::iter::once(("", self.unit)).chain(self.extra.iter().copied())
    }
}

const fn always(params: &'static str) -> Variant {
    Variant { params, when: When::Always, runtimes: &[], workers: &[] }
}

const fn full(params: &'static str) -> Variant {
    Variant { params, when: When::Full, runtimes: &[], workers: &[] }
}

const fn quick(params: &'static str) -> Variant {
    Variant { params, when: When::Quick, runtimes: &[], workers: &[] }
}

impl Variant {
    const fn only(mut self, runtimes: &'static [&'static str]) -> Self {
        self.runtimes = runtimes;
        self
    }

    const fn workers(mut self, workers: &'static [usize]) -> Self {
        self.workers = workers;
        self
    }
}

const ONE: &[usize] = &[1];
const TWO: &[usize] = &[2];
const BOTH: &[usize] = &[1, 2];

/// What most benchmarks have in common.
const USUAL: Bench = Bench {
    name: "",
    program: "",
    what: "",
    unit: "ns",
    extra: &[],
    variants: &[],
    runtimes: &[],
    samples: 3,
    runs_max: usize::MAX,
    checksum: |_| 0,
};

const YIELDERS: &[(&str, &[usize])] =
    &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("floor", ONE), ("tokio", BOTH), ("may", BOTH)];

const CHANNELS: &[(&str, &[usize])] = &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("crossbeam", BOTH)];

const SERVERS: &[(&str, &[usize])] =
    &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("tokio", BOTH), ("may", BOTH)];

/// The side figures of those that have a client.
const SOCKETS: &[(&str, &str)] = &[("p50_ns", "ns"), ("p99_ns", "ns")];

/// The benchmarks, in the order in which they run.
pub const BENCHES: &[Bench] = &[
    Bench {
        name: "yield2",
        program: "yield",
        what: "two processes that only yield; per yield",
        variants: &[always("processes=2,rounds=100000")],
        runtimes: YIELDERS,
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "yield1000",
        program: "yield",
        what: "a thousand processes that only yield; per yield",
        variants: &[always("processes=1000,rounds=200")],
        runtimes: YIELDERS,
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "create_join",
        program: "create",
        what: "create one process, join it; each",
        variants: &[always("count=2550,batch=1")],
        runtimes: &[
            ("raddle", BOTH),
            ("light", BOTH),
            ("go", BOTH),
            ("floor", ONE),
            ("rayon", BOTH),
            ("chili", BOTH),
            ("tokio", BOTH),
            ("may", ONE),
            ("std", TWO),
        ],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "create255",
        program: "create",
        what: "create 255 processes, then join them; each",
        variants: &[always("count=2550,batch=255")],
        runtimes: &[
            ("raddle", BOTH),
            ("light", BOTH),
            ("go", BOTH),
            ("floor", ONE),
            ("rayon", BOTH),
            ("tokio", BOTH),
            ("may", BOTH),
            ("std", TWO),
        ],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "tree",
        program: "tree",
        what: "a tree of processes, each of which makes its children and joins them in order; each process",
        variants: &[always("leaves=100000,children=10"), full("leaves=1000000,children=10")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("tokio", BOTH)],
        checksum: |p| triangle(p.number("leaves")),
        ..USUAL
    },
    Bench {
        name: "thread_yield2",
        program: "yield",
        what: "two threads, with thread-local storage of their own, that only yield; per yield",
        variants: &[always("processes=2,rounds=100000,kind=thread")],
        runtimes: &[("raddle", BOTH), ("go", BOTH)],
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "thread_yield1000",
        program: "yield",
        what: "a thousand threads that only yield; per yield",
        variants: &[always("processes=1000,rounds=200,kind=thread")],
        runtimes: &[("raddle", BOTH), ("go", BOTH)],
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "thread_create",
        program: "create",
        what: "create one thread, join it; each",
        variants: &[always("count=2550,batch=1,kind=thread")],
        runtimes: &[("raddle", BOTH), ("go", BOTH), ("std", TWO)],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "thread_alive",
        program: "alive",
        what: "create all threads, all blocked on fresh stacks, join all; each",
        extra: &[("create_ns", "ns"), ("join_ns", "ns"), ("resident_bytes", "B"), ("page_table_bytes", "B")],
        variants: &[always("count=1000,kind=thread"), always("count=100000,kind=thread")],
        runtimes: &[("raddle", ONE), ("go", ONE)],
        samples: 1,
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "migrate",
        program: "yield",
        what: "64 threads, each of which goes to the other worker at each yield; per migration, both workers at it",
        variants: &[always("processes=64,rounds=3000,kind=scattered")],
        runtimes: &[("raddle", TWO)],
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "started",
        program: "independent",
        what: "8 threads that have started and wait on one worker, and then never yield",
        unit: "ms",
        variants: &[always("form=started,steps=4500000")],
        runtimes: &[("raddle", BOTH)],
        checksum: |p| (0..8).map(|seed| burned(seed, p.number("steps"))).fold(0, u64::wrapping_add),
        ..USUAL
    },
    Bench {
        name: "alive",
        program: "alive",
        what: "create all, all blocked on fresh stacks, join all; each",
        extra: &[
            ("create_ns", "ns"),
            ("join_ns", "ns"),
            ("touch_ns", "ns"),
            ("net_create_ns", "ns"),
            ("resident_bytes", "B"),
            ("page_table_bytes", "B"),
        ],
        variants: &[
            always("count=1000,kind=process").only(&["raddle", "light", "go", "floor"]),
            always("count=100000,kind=process").only(&["raddle", "light", "go", "floor"]),
            full("count=1000000,kind=process").only(&["raddle", "light", "go", "floor"]),
            always("count=1000,kind=task").only(&["raddle", "tokio"]),
            always("count=100000,kind=task").only(&["raddle", "tokio"]),
            full("count=1000000,kind=task").only(&["raddle", "tokio"]),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("floor", ONE), ("tokio", BOTH)],
        samples: 1,
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "handoff",
        program: "handoff",
        what: "two processes that unpark each other and park; per hand-off",
        variants: &[always("rounds=100000")],
        runtimes: &[
            ("raddle", ONE),
            ("light", ONE),
            ("go", ONE),
            ("floor", ONE),
            ("tokio", ONE),
            ("may", ONE),
        ],
        checksum: |p| 2 * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "wake",
        program: "wake",
        what: "wake of a sleeping worker: from the call to the woken code, p50",
        extra: &[
            ("p99_ns", "ns"),
            ("max_ns", "ns"),
            ("futex_ns", "ns"),
            ("futex_p99_ns", "ns"),
            ("futex_max_ns", "ns"),
        ],
        variants: &[
            always("wakes=150,from=os").only(&["raddle", "light", "floor", "tokio"]).workers(ONE),
            always("wakes=150,from=worker").only(&["raddle", "light", "go"]).workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", TWO), ("floor", ONE), ("tokio", ONE)],
        samples: 1,
        checksum: |p| p.number("wakes"),
        ..USUAL
    },
    Bench {
        name: "chain",
        program: "chain",
        what: "a ring that passes one token by park and unpark; per wake",
        variants: &[always("processes=64,rounds=1000")],
        runtimes: &[
            ("raddle", BOTH),
            ("light", BOTH),
            ("go", BOTH),
            ("floor", ONE),
            ("tokio", BOTH),
            ("may", BOTH),
        ],
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "independent",
        program: "independent",
        what: "work that two cores can share: spawned and yielding (a), main and one (b), 8 that never yield (c)",
        unit: "ms",
        variants: &[
            full("form=a,steps=8000000"),
            full("form=b,steps=80000000"),
            full("form=c,steps=40000000"),
            quick("form=a,steps=2000000"),
            quick("form=b,steps=20000000"),
            quick("form=c,steps=10000000"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("tokio", BOTH), ("std", BOTH)],
        samples: 1,
        checksum: |p| {
            let (count, slices) = if p.text("form") == "a" { (4, 5) } else { (independent(p), 1) };
            (0..count).map(|seed| burned(seed, slices * p.number("steps"))).fold(0, u64::wrapping_add)
        },
        ..USUAL
    },
    Bench {
        name: "pingpong",
        program: "pingpong",
        what: "a number there and back over two channels; per round trip (2 workers: placed and hot)",
        variants: &[
            always("rounds=100000,placed=0").workers(ONE),
            always("rounds=100000,placed=1").workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", ONE), ("floor", BOTH)],
        checksum: |p| p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "commstime_seq",
        program: "commstime",
        what: "four processes in a loop that count, and a consumer, delta in sequence; per communication",
        variants: &[always("loops=100000,delta=seq")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("occam", BOTH), ("go", BOTH)],
        checksum: |p| triangle(p.number("loops")),
        ..USUAL
    },
    Bench {
        name: "commstime_par",
        program: "commstime",
        what: "the same, delta in parallel; per communication",
        variants: &[always("loops=100000,delta=par")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("occam", BOTH), ("go", BOTH)],
        checksum: |p| triangle(p.number("loops")),
        ..USUAL
    },
    Bench {
        name: "ring",
        program: "ring",
        what: "a token round a ring of 503 processes; per hop",
        variants: &[always("processes=503,rounds=200")],
        runtimes: &[("occam", BOTH), ("go", BOTH)],
        checksum: |p| p.number("processes") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "pair",
        program: "pair",
        what: "a PAR of two processes and one communication between them, in occam; each",
        variants: &[always("rounds=102400")],
        runtimes: &[("occam", BOTH)],
        checksum: |p| p.number("rounds") / 1024 * triangle(1024),
        ..USUAL
    },
    Bench {
        name: "update",
        program: "update",
        what: "an update of an array's element, subscript and sum checked, in occam; each",
        variants: &[always("rounds=1000")],
        runtimes: &[("occam", ONE)],
        checksum: |p| p.number("rounds") * triangle(1024),
        ..USUAL
    },
    Bench {
        name: "crowd",
        program: "crowd",
        what: "occam processes in a line, all alive at once, through which one number goes; each",
        extra: &[("resident_bytes", "B")],
        variants: &[always("count=1000000")],
        runtimes: &[("occam", BOTH)],
        samples: 1,
        checksum: |p| p.number("count"),
        ..USUAL
    },
    Bench {
        name: "check",
        program: "check",
        what: "the front end for occam on a program of 100000 lines full of PARs; per line",
        variants: &[always("lines=100000")],
        runtimes: &[("occam", ONE)],
        checksum: |p| 2 * (p.number("lines") / 27),
        ..USUAL
    },
    Bench {
        name: "check_wide",
        program: "check",
        what: "the front end for occam on a PAR of so many branches, each with elements of its own; per branch",
        variants: &[always("branches=2000"), always("branches=16000")],
        runtimes: &[("occam", ONE)],
        checksum: |_| 2,
        ..USUAL
    },
    Bench {
        name: "line2000",
        program: "line",
        what: "a line of 2000 processes that pass numbers on, made anew each time; per communication",
        variants: &[
            always("stages=2000,messages=1,segments=0"),
            always("stages=2000,messages=500,segments=0"),
            always("stages=2000,messages=2000,segments=0"),
            always("stages=2000,messages=2000,segments=2").only(&["raddle", "light"]).workers(TWO),
            full("stages=2000,messages=100000,segments=0").only(&["raddle", "light"]),
            full("stages=2000,messages=100000,segments=2").only(&["raddle", "light"]).workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH)],
        samples: 1,
        checksum: |p| p.number("messages") * p.number("stages") + triangle(p.number("messages")),
        ..USUAL
    },
    Bench {
        name: "granularity",
        program: "granularity",
        what: "64 packets of 1000 rounds: so many updates, and one communication inside a PAR; per round",
        variants: &[
            always("packets=64,rounds=1000,grain=1"),
            full("packets=64,rounds=1000,grain=100"),
            always("packets=64,rounds=1000,grain=1000"),
            full("packets=64,rounds=1000,grain=10000"),
            always("packets=512,rounds=1000,grain=1"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("occam", BOTH), ("go", BOTH), ("floor", BOTH)],
        checksum: packets,
        ..USUAL
    },
    Bench {
        name: "oversubscribed",
        program: "granularity",
        what: "the same with more workers than cores: on a machine of two cores 4 and 8 are two and four for each",
        variants: &[always("packets=64,rounds=1000,grain=1"), always("packets=64,rounds=1000,grain=1000")],
        runtimes: &[("raddle", &[2, 4, 8]), ("light", &[2, 4, 8]), ("occam", &[2, 4, 8])],
        checksum: packets,
        ..USUAL
    },
    Bench {
        name: "busy_granularity",
        program: "granularity",
        what: "the same beside a busy neighbour, which computes on the first core all the time; per round",
        variants: &[
            always("packets=64,rounds=1000,grain=1,busy=1"),
            always("packets=64,rounds=1000,grain=1000,busy=1"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("occam", BOTH), ("go", BOTH)],
        checksum: packets,
        ..USUAL
    },
    Bench {
        name: "busy_commstime",
        program: "commstime",
        what: "commstime_seq beside a busy neighbour, which computes on the first core all the time; per communication",
        variants: &[always("loops=100000,delta=seq,busy=1")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("occam", BOTH), ("go", BOTH)],
        checksum: |p| triangle(p.number("loops")),
        ..USUAL
    },
    Bench {
        name: "alternation",
        program: "alternation",
        what: "receive from the first ready of several channels, one sender going round; per receive",
        variants: &[
            always("channels=2,rounds=100000"),
            always("channels=8,rounds=100000"),
            always("channels=64,rounds=100000"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH)],
        checksum: |p| triangle(p.number("rounds")),
        ..USUAL
    },
    Bench {
        name: "timers",
        program: "timers",
        what: "so many sleep at once, each for 100 to 1000 ms: processor time of a sleep, creation included",
        extra: &[("late_p50_us", "us"), ("late_p99_us", "us")],
        variants: &[always("count=1000,rounds=2"), always("count=100000,rounds=2")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("tokio", BOTH)],
        samples: 1,
        checksum: |p| p.number("count") * p.number("rounds"),
        ..USUAL
    },
    Bench {
        name: "churn",
        program: "churn",
        what: "processes, threads and tasks that come and go for so many seconds (--seconds 600); each, and what stays",
        extra: &[("early_bytes", "B"), ("late_bytes", "B"), ("growth", "late / early")],
        variants: &[full("seconds=10"), quick("seconds=3")],
        runtimes: &[("raddle", BOTH), ("light", BOTH)],
        samples: 1,
        runs_max: 3,
        checksum: |p| p.number("seconds"),
        ..USUAL
    },
    Bench {
        name: "idle",
        program: "idle",
        what: "processor time that a runtime without work uses, in per cent of one core",
        unit: "%",
        variants: &[full("seconds=10"), quick("seconds=3")],
        runtimes: &[("raddle", BOTH), ("go", BOTH), ("tokio", TWO), ("rayon", TWO)],
        samples: 1,
        runs_max: 3,
        checksum: |_| burned(1, 1000),
        ..USUAL
    },
    Bench {
        name: "latency",
        program: "latency",
        what: "from wake to run, p50; 4 processes a worker, the waker one of them, compute in slices of 10 us",
        extra: &[("p99_ns", "ns")],
        variants: &[always("wakes=1000,steps=10000")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("tokio", BOTH)],
        samples: 1,
        checksum: |p| p.number("wakes"),
        ..USUAL
    },
    Bench {
        name: "echo",
        program: "echo",
        what: "64 bytes there and back, the next as soon as the answer has come; the client on the last core; each",
        extra: SOCKETS,
        variants: &[
            always("form=echo,connections=1,requests=20000"),
            always("form=echo,connections=100,requests=100000"),
            always("form=echo,connections=1000,requests=100000"),
            full("form=echo,connections=10000,requests=200000"),
            always("form=echo,connections=100,requests=100000,kind=thread").only(&["raddle"]),
            always("form=echo,connections=100,requests=100000,kind=task").only(&["raddle"]),
        ],
        runtimes: SERVERS,
        samples: 1,
        checksum: |p| p.number("requests"),
        ..USUAL
    },
    Bench {
        name: "echo_half",
        program: "echo",
        what: "the same at 80 000 requests a second, each counted from when it was due; p50",
        extra: SOCKETS,
        variants: &[always("form=half,connections=100,requests=80000,gap_ns=12500")],
        runtimes: SERVERS,
        samples: 1,
        checksum: |p| p.number("requests"),
        ..USUAL
    },
    Bench {
        name: "echo_busy",
        program: "echo",
        what: "the same at 10 000 a second, beside a process of the server's that only computes; p50",
        extra: SOCKETS,
        variants: &[always("form=half,connections=10,requests=10000,gap_ns=100000,busy=1")],
        runtimes: &[("raddle", TWO), ("light", TWO), ("go", TWO)],
        samples: 1,
        checksum: |p| p.number("requests"),
        ..USUAL
    },
    Bench {
        name: "accept",
        program: "echo",
        what: "a connection, 64 bytes there and back, its end; sixteen at a time; each",
        extra: SOCKETS,
        variants: &[always("form=accept,connections=16,requests=20000")],
        runtimes: SERVERS,
        samples: 1,
        checksum: |p| p.number("requests"),
        ..USUAL
    },
    Bench {
        name: "mutex",
        program: "mutex",
        what: "processes or threads that add to a counter under one mutex; per lock and unlock",
        variants: &[
            always("lock=mutex,threads=1,rounds=100000").workers(ONE),
            always("lock=mutex,threads=2,rounds=100000").workers(TWO),
            always("lock=mutex,threads=64,rounds=100000"),
            always("lock=mutex,threads=64,rounds=100000,placed=1").only(&["raddle", "light"]).workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("std", BOTH), ("parking_lot", BOTH)],
        checksum: locked,
        ..USUAL
    },
    Bench {
        name: "rwlock",
        program: "mutex",
        what: "processes or threads of whose turns under one lock 99 of 100 read a counter; per lock and unlock",
        variants: &[
            always("lock=rwlock,threads=1,rounds=100000").workers(ONE),
            always("lock=rwlock,threads=64,rounds=100000"),
            always("lock=rwlock,threads=64,rounds=6400000").workers(TWO),
            always("lock=rwlock,threads=64,rounds=6400000,placed=1").only(&["raddle", "light"]).workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH), ("std", BOTH), ("parking_lot", BOTH)],
        checksum: locked,
        ..USUAL
    },
    Bench {
        name: "futex",
        program: "futex",
        what: "a wake of nobody, a word that two hand to each other, a mutex that does not spin; each",
        variants: &[
            always("form=nobody,rounds=1000000").workers(ONE),
            always("form=pair,rounds=10000"),
            always("form=pair,placed=1,rounds=10000").workers(TWO),
            always("form=mutex,threads=1,rounds=100000").workers(ONE),
            always("form=mutex,threads=2,rounds=100000").workers(TWO),
            always("form=mutex,threads=64,rounds=100000").workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("kernel", BOTH), ("parking_lot", BOTH)],
        checksum: |p| match p.text("form") {
            "mutex" => locked(p),
            "pair" => 2 * p.number("rounds"),
            _ => p.number("rounds"),
        },
        ..USUAL
    },
    Bench {
        name: "queue_lock",
        program: "mutex",
        what: "the same under each of the locks for short sections; per lock and unlock",
        variants: &[
            always("lock=spin,threads=1,rounds=100000").workers(ONE),
            always("lock=ticket,threads=1,rounds=100000").only(&["raddle"]).workers(ONE),
            always("lock=mcs,threads=1,rounds=100000").workers(ONE),
            always("lock=clh,threads=1,rounds=100000").workers(ONE),
            always("lock=spin,threads=2,rounds=100000,placed=1").workers(TWO),
            always("lock=mcs,threads=2,rounds=100000,placed=1").workers(TWO),
            always("lock=clh,threads=2,rounds=100000,placed=1").workers(TWO),
            always("lock=mcs,threads=64,rounds=100000,placed=1").workers(TWO),
            always("lock=clh,threads=64,rounds=100000,placed=1").workers(TWO),
            always("lock=spin,threads=1000,rounds=100000").workers(TWO),
            always("lock=ticket,threads=1000,rounds=100000").workers(TWO),
            always("lock=mcs,threads=1000,rounds=100000").workers(TWO),
            always("lock=clh,threads=1000,rounds=100000").workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("floor", ONE)],
        checksum: locked,
        ..USUAL
    },
    Bench {
        name: "stm",
        program: "stm",
        what: "transactions: a counter, a transfer, 16 reads, a bank of 1024 accounts, its audit beside transfers; std \
               locks a mutex for each (an audit: the mean, and the slowest of a process)",
        extra: &[("worst_ns", "ns")],
        variants: &[
            always("form=counter,threads=1,rounds=100000").workers(ONE),
            always("form=transfer,threads=1,rounds=100000").workers(ONE),
            always("form=reads,threads=1,rounds=100000").workers(ONE),
            always("form=counter,threads=2,rounds=100000").workers(TWO),
            always("form=bank,threads=2,rounds=100000").workers(TWO),
            always("form=bank,threads=16,rounds=102400").workers(TWO),
            always("form=bank,threads=64,rounds=102400").workers(TWO),
            always("form=bank,threads=128,rounds=102400").workers(TWO),
            always("form=audit,threads=3,rounds=300").workers(TWO),
        ],
        runtimes: &[
            ("raddle", BOTH),
            ("light", BOTH),
            ("std", BOTH),
            ("stm", BOTH),
            ("fast-stm", BOTH),
            ("libitm", BOTH),
            ("itm", BOTH),
        ],
        checksum: locked,
        ..USUAL
    },
    Bench {
        name: "retry",
        program: "retry",
        what: "processes that wait in transactions: a number there and back, beside channels; so many at once (made to \
               wait and woken, each); two that change one variable (p50)",
        extra: &[("heap_bytes", "bytes"), ("idle_percent", "%"), ("p999_ns", "ns"), ("p999_to_p50", "ratio")],
        variants: &[
            always("form=turn,count=100000"),
            always("form=boxes,count=100000"),
            always("form=channel,count=100000"),
            always("form=conflict,count=1000000").workers(TWO),
            full("form=parked,count=1000000"),
            quick("form=parked,count=100000"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH)],
        checksum: |p| if p.text("form") == "parked" { p.number("count") / 2 } else { p.number("count") },
        ..USUAL
    },
    Bench {
        name: "sets",
        program: "sets",
        what: "numbers in a sorted list of 256, a hash table and a red-black tree of 4096, of 100 operations so many \
               change them; std has one mutex for all, and its own collections",
        variants: &[
            always("form=list,changes=0,threads=1,rounds=20000").workers(ONE),
            always("form=list,changes=20,threads=1,rounds=20000").workers(ONE),
            always("form=list,changes=100,threads=1,rounds=20000").workers(ONE),
            always("form=table,changes=0,threads=1,rounds=100000").workers(ONE),
            always("form=table,changes=20,threads=1,rounds=100000").workers(ONE),
            always("form=table,changes=100,threads=1,rounds=100000").workers(ONE),
            always("form=tree,changes=0,threads=1,rounds=100000").workers(ONE),
            always("form=tree,changes=20,threads=1,rounds=100000").workers(ONE),
            always("form=tree,changes=100,threads=1,rounds=100000").workers(ONE),
            always("form=list,changes=0,threads=2,rounds=20000").workers(TWO),
            always("form=list,changes=20,threads=2,rounds=20000").workers(TWO),
            always("form=list,changes=100,threads=2,rounds=20000").workers(TWO),
            always("form=table,changes=0,threads=2,rounds=100000").workers(TWO),
            always("form=table,changes=20,threads=2,rounds=100000").workers(TWO),
            always("form=table,changes=100,threads=2,rounds=100000").workers(TWO),
            always("form=table,changes=20,threads=16,rounds=102400").workers(TWO),
            always("form=table,changes=20,threads=64,rounds=102400").workers(TWO),
            always("form=table,changes=20,threads=128,rounds=102400").workers(TWO),
            always("form=tree,changes=0,threads=2,rounds=100000").workers(TWO),
            always("form=tree,changes=20,threads=2,rounds=100000").workers(TWO),
            always("form=tree,changes=100,threads=2,rounds=100000").workers(TWO),
        ],
        runtimes: &[("raddle", BOTH), ("std", BOTH)],
        checksum: locked,
        ..USUAL
    },
    Bench {
        name: "rendezvous",
        program: "channels",
        what: "there and back through channels of capacity 0 with cloneable ends; per round trip",
        variants: &[always("form=pingpong,count=10000,ends=1,width=1,capacity=0")],
        runtimes: CHANNELS,
        checksum: |p| p.number("count"),
        ..USUAL
    },
    Bench {
        name: "flow",
        program: "channels",
        what: "from `ends` senders to `width` receivers through one channel (1000000: unbounded); per message",
        variants: &[
            always("form=flow,count=100000,ends=1,width=1,capacity=64"),
            always("form=flow,count=100000,ends=1,width=1,capacity=1000000"),
            always("form=flow,count=100000,ends=4,width=1,capacity=64"),
            always("form=flow,count=100000,ends=8,width=1,capacity=1000000"),
            always("form=flow,count=100000,ends=1,width=8,capacity=64"),
            always("form=flow,count=100000,ends=4,width=4,capacity=64"),
            always("form=flow,count=100000,ends=4,width=4,capacity=1000000"),
        ],
        runtimes: CHANNELS,
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "pool",
        program: "channels",
        what: "jobs of `width` steps (1 ns) by a pool of `ends` between two channels; each",
        variants: &[
            always("form=pool,count=10000,ends=4,width=400,capacity=16"),
            always("form=pool,count=10000,ends=4,width=2000,capacity=16"),
            always("form=pool,count=10000,ends=4,width=5000,capacity=16"),
            always("form=pool,count=10000,ends=4,width=10000,capacity=16"),
        ],
        runtimes: &[("raddle", BOTH), ("go", BOTH)],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "mpsc",
        program: "channels",
        what: "from `ends` senders through one channel of sync::mpsc (1000000: unbounded; on Go a chan); per message",
        variants: &[
            always("form=mpsc,count=100000,ends=8,width=1,capacity=1000000"),
            always("form=mpsc,count=100000,ends=8,width=1,capacity=64"),
        ],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("go", BOTH)],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "os_rendezvous",
        program: "channels",
        what: "the same on OS threads, without a runtime; per round trip",
        variants: &[always("form=os_pingpong,count=10000,ends=1,width=1,capacity=0")],
        runtimes: &[("raddle", BOTH), ("crossbeam", BOTH)],
        checksum: |p| p.number("count"),
        ..USUAL
    },
    Bench {
        name: "os_flow",
        program: "channels",
        what: "from `ends` senders to `width` receivers on OS threads, without a runtime; per message",
        variants: &[
            always("form=os_flow,count=100000,ends=1,width=1,capacity=64"),
            always("form=os_flow,count=100000,ends=4,width=4,capacity=64"),
            always("form=os_flow,count=100000,ends=4,width=4,capacity=1000000"),
        ],
        runtimes: &[("raddle", BOTH), ("crossbeam", BOTH)],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "fib",
        program: "fib",
        what: "fib by join, without a cut-off; per fork",
        variants: &[full("n=36,forks=24157816"), quick("n=30,forks=1346268")],
        runtimes: &[("raddle", BOTH), ("chili", BOTH), ("rayon", BOTH), ("floor", ONE)],
        checksum: |p| fibonacci(p.number("n")),
        ..USUAL
    },
    Bench {
        name: "flat",
        program: "flat",
        what: "futures (on rayon: a scope's jobs), spawned jobs that return at once, by batches; fresh threads; each",
        variants: &[
            always("count=1000000,batch=250,kind=future"),
            always("count=1000000,batch=1000000,kind=future"),
            always("count=1000000,batch=250,kind=spawn").only(&["raddle", "light", "rayon"]),
            always("count=10000,batch=1000,kind=spawn,steps=10000").only(&["raddle", "rayon"]),
            always("count=1000000,batch=250,kind=process").only(&["raddle", "light"]),
            always("count=10000,kind=thread").only(&["raddle"]),
        ],
        runtimes: &[
            ("raddle", BOTH),
            ("light", BOTH),
            ("rayon", BOTH),
            ("openmp", BOTH),
            ("tbb", BOTH),
            ("floor", ONE),
        ],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "tasks",
        program: "tasks",
        what: "tasks that return at once, spawned in batches by a task, which awaits them in order; each",
        variants: &[always("count=100000,batch=250"), always("count=100000,batch=100000")],
        runtimes: &[("raddle", BOTH), ("smol", BOTH), ("tokio", BOTH)],
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "call",
        program: "call",
        what: "a call from an OS thread into the runtime (Runtime::run), which waits for its answer; each",
        variants: &[always("calls=10000")],
        runtimes: &[("raddle", BOTH), ("light", BOTH), ("tokio", BOTH), ("rayon", BOTH)],
        checksum: |p| triangle(p.number("calls")),
        ..USUAL
    },
    Bench {
        name: "loops",
        program: "loops",
        what: "par_for, par_for_each, par_map; steps: in each turn of the last eighth, which is dear then; per turn",
        variants: &[
            always("form=for,count=1000000,steps=0"),
            always("form=each,count=1000000,steps=0"),
            always("form=map,count=1000000,steps=0"),
            always("form=map,count=1000,steps=0"),
            always("form=for,count=10000,steps=1000"),
            always("form=map,count=10000,steps=1000"),
        ],
        runtimes: &[("raddle", BOTH), ("rayon", BOTH), ("floor", ONE)],
        checksum: |p| {
            let (count, steps) = (p.number("count"), p.number("steps"));
            let last = if steps == 0 { 3 * (count - 1) + 1 } else { burned(count - 1, steps) };
            last.wrapping_add(1 + 3 * (count / 2) + 1)
        },
        ..USUAL
    },
    Bench {
        name: "select",
        program: "channels",
        what: "a selection over `width` channels: one has a message (ready), or it waits (wait); per receive",
        variants: &[
            always("form=ready,count=10000,ends=1,width=2,capacity=1"),
            always("form=ready,count=10000,ends=1,width=8,capacity=1"),
            always("form=ready,count=10000,ends=1,width=64,capacity=1"),
            always("form=wait,count=10000,ends=1,width=2,capacity=0"),
            always("form=wait,count=10000,ends=1,width=8,capacity=0"),
            always("form=wait,count=10000,ends=1,width=64,capacity=0"),
        ],
        runtimes: CHANNELS,
        checksum: sum_of_indices,
        ..USUAL
    },
    Bench {
        name: "leaves",
        program: "leaves",
        what: "eight coarse leaves, about 10 ms each, under an unbalanced tree of joins",
        unit: "ms",
        variants: &[full("leaves=8,steps=10000000"), quick("leaves=8,steps=2500000")],
        runtimes: &[("raddle", BOTH), ("chili", BOTH), ("rayon", BOTH)],
        checksum: |p| {
            (0..p.number("leaves")).map(|s| burned(s, p.number("steps"))).fold(0, u64::wrapping_add)
        },
        ..USUAL
    },
    Bench {
        name: "trace_event",
        program: "trace_event",
        what: "a bare reading of the clock, a record in a ring; a switch and a message, at each level of a trace",
        variants: &[
            always("form=stamp,count=100000,level=0"),
            always("form=record,count=100000,level=0"),
            always("form=switch,count=100000,level=0"),
            always("form=switch,count=100000,level=1"),
            always("form=switch,count=100000,level=2"),
            always("form=meet,count=100000,level=0"),
            always("form=meet,count=100000,level=1"),
            always("form=meet,count=100000,level=2"),
        ],
        runtimes: &[("raddle", ONE)],
        checksum: |p| p.number("count"),
        ..USUAL
    },
];

fn packets(params: &Params<'_>) -> u64 {
    params.number("rounds") * (1 + params.number("grain")) * triangle(params.number("packets"))
}

fn locked(params: &Params<'_>) -> u64 {
    params.number("rounds") / params.number("threads") * params.number("threads")
}

fn sum_of_indices(params: &Params<'_>) -> u64 {
    triangle(params.number("count"))
}

/// The sum of all numbers below.
fn triangle(count: u64) -> u64 {
    count * (count - 1) / 2
}

fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

fn independent(params: &Params<'_>) -> u64 {
    if params.text("form") == "b" { 2 } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes;

    #[test]
    fn names_are_unique_and_every_cell_has_a_checksum() {
        for (index, bench) in BENCHES.iter().enumerate() {
            assert!(BENCHES[..index].iter().all(|other| other.name != bench.name), "{} twice", bench.name);
            for variant in bench.variants {
                (bench.checksum)(&Params(variant.params));
            }
        }
    }

    #[test]
    fn every_runtime_of_a_benchmark_is_known_and_has_something_to_run() {
        for bench in BENCHES {
            for (runtime, workers) in bench.runtimes {
                assert!(runtimes::of(runtime).is_some(), "{runtime} of {}", bench.name);
                for &count in *workers {
                    for quick in [true, false] {
                        let params = bench.params(runtime, count, quick);
                        assert!(!params.is_empty(), "{} {runtime} {count}", bench.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_session_in_short_leaves_out_a_million() {
        let alive = BENCHES.iter().find(|bench| bench.name == "alive").unwrap();
        assert_eq!(alive.params("raddle", 1, true).len() + 2, alive.params("raddle", 1, false).len());
    }
}
