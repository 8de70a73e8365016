//! Owns: the syntax of `alt!` and `pri_alt!`.
//! May use: nothing.
//! Never: a mechanism.
//!
//! The guards are collected one by one; each gets a variable of its own by the hygiene of macros, which gives the
//! `guard` of every step a different meaning.
//!
//! `csp` exports the macros under their own names. Here they are not hidden from the documentation: `raddle`, which
//! exports them as `raddle::csp::alt` and so on, would have no pages of them.

/// Waits for the first of several guards to be ready, and runs what stands behind it: occam's `ALT`.
///
/// | guard | ready |
/// |---|---|
/// | `recv(receiver) -> message` | when the sender sends (`Ok`), is gone or the channel is poisoned (`Err`) |
/// | `recv(stream.when_readable()?) -> _` | when a read from this socket, or pipe, would not wait (`raddle::net`) |
/// | `after(duration)` | when the time has passed |
/// | `at(instant)` | from that moment on |
/// | `skip` | if no other is |
///
/// Each may have a precondition, `if condition`; without it the guard is never ready. If several are ready the choice
/// is fair. What was received is a pattern, bound to a `Result<T, RecvError>`.
///
/// # Panics
/// Inside a task; and if no guard is open, so that it would wait for ever.
///
/// ```
/// use raddle::csp;
/// use std::time::Duration;
///
/// let (mut to, mut from) = csp::channel();
/// let (_quiet, mut silent) = csp::channel::<u8>();
/// let sender = csp::spawn(move || to.send(7).unwrap());
/// let n = csp::alt! {
///     recv(from) -> n => n.unwrap(),
///     recv(silent) -> byte if n_is_wanted() => u32::from(byte.unwrap()),
///     after(Duration::from_secs(60)) => 0,
/// };
/// assert_eq!(n, 7);
/// # fn n_is_wanted() -> bool { true }
/// # sender.join().unwrap();
/// ```
#[macro_export]
macro_rules! __alt {
    ($($guards:tt)*) => { $crate::__alternation!(@next $crate::csp::Order::Fair; []; $($guards)*) };
}

/// As [`alt!`](crate::csp::alt!), and if several guards are ready the first of them is taken: occam's `PRI ALT`.
///
/// ```
/// use raddle::csp;
/// let (mut boss, mut commands) = csp::channel();
/// let (mut customer, mut work) = csp::channel();
/// let mut day = || csp::pri_alt! {
///     recv(commands) -> word => word.unwrap(),
///     recv(work) -> word => word.unwrap(),
///     skip => "a nap",
/// };
/// assert_eq!(day(), "a nap");
/// csp::scope(|s| {
///     s.spawn(|| customer.send("a job").unwrap());
///     s.spawn(|| boss.send("go home").unwrap());
///     let mut words: Vec<_> = std::iter::repeat_with(&mut day).filter(|word| *word != "a nap").take(2).collect();
///     words.sort();
///     assert_eq!(words, ["a job", "go home"]);
/// });
/// ```
#[macro_export]
macro_rules! __pri_alt {
    ($($guards:tt)*) => { $crate::__alternation!(@next $crate::csp::Order::Priority; []; $($guards)*) };
}

/// Collects `[variable (end) (constructor) (pattern) {body}]`, then writes the choice. An end that is made for the
/// alternation, and not a variable, lives as long as that and the body that it runs.
#[doc(hidden)]
#[macro_export]
macro_rules! __alternation {
    (@next $order:expr; [$($all:tt)*]; recv($end:expr) -> $message:pat if $open:expr => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard (let open = $open; let guard = &mut $end;) ($crate::csp::RecvGuard::when(open, guard))
            (let $message = guard.received().expect("it was chosen");); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; recv($end:expr) -> $message:pat => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard (let guard = &mut $end;) ($crate::csp::RecvGuard::new(guard))
            (let $message = guard.received().expect("it was chosen");); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; after($time:expr) if $open:expr => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::TimeGuard::after($time).when($open)) (); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; after($time:expr) => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::TimeGuard::after($time)) (); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; at($time:expr) if $open:expr => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::TimeGuard::at($time).when($open)) (); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; at($time:expr) => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::TimeGuard::at($time)) (); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; skip if $open:expr => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::SkipGuard::when($open)) (); $($rest)*)
    };
    (@next $order:expr; [$($all:tt)*]; skip => $($rest:tt)*) => {
        $crate::__alternation!(@body $order; [$($all)*];
            guard () ($crate::csp::SkipGuard::when(true)) (); $($rest)*)
    };
    (@body $order:expr; [$($all:tt)*]; $guard:ident $end:tt $make:tt $bind:tt; $body:block, $($rest:tt)*) => {
        $crate::__alternation!(@next $order; [$($all)* [$guard $end $make $bind $body]]; $($rest)*)
    };
    (@body $order:expr; [$($all:tt)*]; $guard:ident $end:tt $make:tt $bind:tt; $body:block $($rest:tt)*) => {
        $crate::__alternation!(@next $order; [$($all)* [$guard $end $make $bind $body]]; $($rest)*)
    };
    (@body $order:expr; [$($all:tt)*]; $guard:ident $end:tt $make:tt $bind:tt; $body:expr, $($rest:tt)*) => {
        $crate::__alternation!(@next $order; [$($all)* [$guard $end $make $bind $body]]; $($rest)*)
    };
    (@body $order:expr; [$($all:tt)*]; $guard:ident $end:tt $make:tt $bind:tt; $body:expr) => {
        $crate::__alternation!(@next $order; [$($all)* [$guard $end $make $bind $body]];)
    };
    (@next $order:expr; [$([$guard:ident ($($end:tt)*) ($make:expr) ($($bind:tt)*) $body:expr])+];) => {{
        $($($end)* let mut $guard = $make;)+
        let chosen = $crate::csp::choose($order, [$(&mut $guard),+]);
        let mut place = 0;
        match () {
            $(() if { place += 1; place - 1 == chosen } => { $($bind)* $body })+
            () => unreachable!("one of them was chosen"),
        }
    }};
    // What is none of these.
    (@next $order:expr; [];) => {
        compile_error!("an alternation wants at least one guard: `recv(receiver) -> message => ...`")
    };
    (@next $order:expr; [$($all:tt)*]; recv($end:expr) => $($rest:tt)*) => {
        compile_error!("`recv` wants a pattern for what is received: `recv(receiver) -> message => ...`")
    };
    (@next $order:expr; [$($all:tt)*]; recv($end:expr) if $($rest:tt)*) => {
        compile_error!("`recv` wants a pattern for what is received: `recv(receiver) -> message if condition => ...`")
    };
    (@next $order:expr; [$($all:tt)*]; send $($rest:tt)*) => {
        compile_error!("an alternation chooses among receivers; `raddle::select!` has `send`, for `raddle::channel`")
    };
    (@next $order:expr; [$($all:tt)*]; default $($rest:tt)*) => {
        compile_error!("`default` is called `skip` here: `skip => ...`, or `after(duration) => ...`")
    };
    (@next $order:expr; [$($all:tt)*]; $($rest:tt)*) => {
        compile_error!(concat!(
            "expected a guard, `recv(receiver) -> message => ...`, `after(duration) => ...`, \
             `at(instant) => ...` or `skip => ...`, each with `if condition` before `=>` if need be; found `",
            stringify!($($rest)*), "`"
        ))
    };
    (@body $order:expr; [$($all:tt)*]; $guard:ident $end:tt $make:tt $bind:tt; $($rest:tt)*) => {
        compile_error!(concat!(
            "expected a body and a comma before the next guard, found `", stringify!($($rest)*), "`"
        ))
    };
}

/// Runs all its branches concurrently and returns, when all have ended, what they returned, as a tuple: occam's `PAR`.
///
/// Each branch is an expression (a block, too) that may borrow from around it; all but the last run as processes of
/// their own, the last in the caller. With `for` it is a replicated `PAR`: [`par_for`](crate::csp::par_for).
///
/// # Panics
/// As a branch that panicked, when all have ended; see [`par2`](crate::csp::par2).
///
/// ```
/// use raddle::csp;
/// let (mut to, mut from) = csp::channel();
/// let (_, twice, n) = csp::par!(to.send(20).unwrap(), 2 * 11, from.recv().unwrap());
/// assert_eq!(twice + n, 42);
///
/// csp::par!(for i in 0..10 => assert!(i < 10));
/// ```
#[macro_export]
macro_rules! __par {
    (for $index:pat in $range:expr => $body:expr) => {
        $crate::csp::par_for($range, |$index| { $body; })
    };
    ($only:expr $(,)?) => { ($only,) };
    ($first:expr, $last:expr $(,)?) => { $crate::csp::par2(|| $first, || $last) };
    ($first:expr, $($rest:expr),+ $(,)?) => {
        $crate::__par!(@flat [] [] $first, $($rest),+)
    };
    // Each step gives a branch a variable; the calls nest to the right, and so does the pattern that takes them apart.
    (@flat [$($name:ident)*] [$($branch:expr,)*] $next:expr, $($rest:expr),+) => {
        $crate::__par!(@flat [$($name)* branch] [$($branch,)* $next,] $($rest),+)
    };
    (@flat [$($name:ident)*] [$($branch:expr,)*] $last:expr) => {{
        let $crate::__par!(@pattern $($name)* last) = $crate::__par!(@nest [$($branch,)*] $last);
        ($($name,)* last)
    }};
    (@pattern $last:ident) => { $last };
    (@pattern $first:ident $($rest:ident)+) => { ($first, $crate::__par!(@pattern $($rest)+)) };
    (@nest [$first:expr,] $last:expr) => { $crate::csp::par2(|| $first, || $last) };
    (@nest [$first:expr, $($rest:expr,)+] $last:expr) => {
        $crate::csp::par2(|| $first, || $crate::__par!(@nest [$($rest,)+] $last))
    };
}

#[doc(inline)]
pub use crate::{__alt as alt, __par as par, __pri_alt as pri_alt};
