//! Owns: `select!` and `select_biased!`.
//! May use: `channel`.
//! Never: a closure around the user's code: `?`, `return`, `break` and `continue` work in every arm.
//!
//! The grammar is that of `crossbeam-channel`. The macro works in three steps, each a group of rules:
//!
//! 1. `@parse` makes a list of the arms, each `[kind (arguments) (pattern) {body}]`, from the ways to write one;
//! 2. `@bind` evaluates the ends in their order, one `match` inside the other, so that temporaries live as long as all;
//! 3. `@arms` tests which operation it was, completes it, and runs its body.
//!
//! The name `end` that `@bind` makes at each level is another one at each, by hygiene; so there is no bound on their
//! number.

/// Does one of several operations, whichever is possible first; of several possible ones any, each as likely as the
/// others.
///
/// An operation is possible if it would not wait; that is so, too, if it fails because the channel is disconnected.
/// With `default => ...` it does not wait; with `default(timeout) => ...` not longer than that. The message of a `send`
/// is worked out only if that send was chosen. Ends may be expressions, by value or by reference.
///
/// ```
/// use raddle::channel::{select, bounded, unbounded};
/// use std::time::Duration;
/// let ((s1, r1), (s2, r2)) = (unbounded(), bounded(0));
/// s1.send(10).unwrap();
/// select! {
///     recv(r1) -> msg => assert_eq!(msg, Ok(10)),
///     recv(&r2) -> msg => panic!("nobody has sent {msg:?}"),
/// }
/// select! {
///     recv(r1) -> _ => unreachable!(),
///     send(s2, 20) -> _ => unreachable!("nobody receives"),
///     default(Duration::from_millis(1)) => {}
/// }
/// # drop(r2);
/// ```
///
/// # Panics
/// If it would have to wait inside a task.
#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => { $crate::__channel_select!(@parse false [] $($tokens)*) };
}

/// As `select!`, but of several possible operations does the first in the list.
///
/// ```
/// use raddle::channel::{select_biased, unbounded};
/// let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
/// s2.send("second").unwrap();
/// s1.send("first").unwrap();
/// let one = select_biased! {
///     recv(r1) -> msg => msg.unwrap(),
///     recv(r2) -> msg => msg.unwrap(),
/// };
/// assert_eq!(one, "first");
/// ```
#[macro_export]
macro_rules! select_biased {
    ($($tokens:tt)*) => { $crate::__channel_select!(@parse true [] $($tokens)*) };
}

/// The steps of `select!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __channel_select {
    (@parse $biased:tt []) => { compile_error!("empty `select!` block") };
    (@parse $biased:tt [$($arms:tt)*]) => { $crate::__channel_select!(@bind $biased () () (0) $($arms)*) };
    (@parse $biased:tt $arms:tt default => $($rest:tt)*) => {
        $crate::__channel_select!(@parse $biased $arms default() => $($rest)*)
    };
    (@parse $biased:tt [$($arms:tt)*]
        $kind:ident ($($args:tt)*) $(-> $res:pat)? => { $($body:tt)* }, $($rest:tt)*) => {
        $crate::__channel_select!(@parse $biased
            [$($arms)* [$kind ($($args)*) ($($res)?) { $($body)* }]] $($rest)*)
    };
    (@parse $biased:tt [$($arms:tt)*]
        $kind:ident ($($args:tt)*) $(-> $res:pat)? => $body:expr, $($rest:tt)*) => {
        $crate::__channel_select!(@parse $biased
            [$($arms)* [$kind ($($args)*) ($($res)?) { $body }]] $($rest)*)
    };
    (@parse $biased:tt [$($arms:tt)*]
        $kind:ident ($($args:tt)*) $(-> $res:pat)? => { $($body:tt)* } $($rest:tt)*) => {
        $crate::__channel_select!(@parse $biased
            [$($arms)* [$kind ($($args)*) ($($res)?) { $($body)* }]] $($rest)*)
    };
    (@parse $biased:tt [$($arms:tt)*] $kind:ident ($($args:tt)*) $(-> $res:pat)? => $body:expr) => {
        $crate::__channel_select!(@parse $biased [$($arms)* [$kind ($($args)*) ($($res)?) { $body }]])
    };
    (@parse $biased:tt $arms:tt $($rest:tt)*) => {
        compile_error!(concat!(
            "expected `recv(r) -> msg => ...`, `send(s, msg) -> res => ...` or `default => ...`, found `",
            stringify!($($rest)*), "`"
        ))
    };

    (@bind $biased:tt ($($bound:tt)*) $default:tt ($($n:tt)*)
        [recv ($r:expr $(,)?) ($res:pat) $body:tt] $($rest:tt)*) => {
        match $r {
            ref end => {
                let end = end.receiver_of_raddle_channel();
                $crate::__channel_select!(@bind $biased
                    ($($bound)* [recv_case end ($($n)*) () ($res) $body]) $default ($($n)* + 1) $($rest)*)
            }
        }
    };
    (@bind $biased:tt ($($bound:tt)*) $default:tt ($($n:tt)*)
        [send ($s:expr, $m:expr $(,)?) ($res:pat) $body:tt] $($rest:tt)*) => {
        match $s {
            ref end => {
                let end = end.sender_of_raddle_channel();
                $crate::__channel_select!(@bind $biased
                    ($($bound)* [send_case end ($($n)*) ($m) ($res) $body]) $default ($($n)* + 1) $($rest)*)
            }
        }
    };
    (@bind $biased:tt $bound:tt () $n:tt [default () () $body:tt] $($rest:tt)*) => {
        $crate::__channel_select!(@bind $biased $bound ([Now] $body) $n $($rest)*)
    };
    (@bind $biased:tt $bound:tt () $n:tt [default ($timeout:expr $(,)?) () $body:tt] $($rest:tt)*) => {
        $crate::__channel_select!(@bind $biased $bound ([after($timeout)] $body) $n $($rest)*)
    };
    (@bind $biased:tt $bound:tt ($($default:tt)+) $n:tt [default $($arm:tt)*] $($rest:tt)*) => {
        compile_error!("there can be only one `default` case in a `select!` block")
    };
    (@bind $biased:tt $bound:tt $default:tt $n:tt [$kind:ident $args:tt $res:tt $body:tt] $($rest:tt)*) => {
        compile_error!(concat!(
            "invalid `", stringify!($kind), stringify!($args), "` in a `select!` block: expected ",
            "`recv(r) -> msg => ...`, `send(s, msg) -> res => ...`, `default => ...` or `default(timeout) => ...`"
        ))
    };

    (@bind $biased:tt ($([$case:ident $end:ident $($arm:tt)*])*) () $n:tt) => {{
        let picked = $crate::channel::__private::pick(
            &mut [$($crate::channel::__private::$case($end)),*],
            $crate::channel::__private::Until::Possible,
            $biased,
        );
        match picked {
            ::core::option::Option::Some(picked) => {
                $crate::__channel_select!(@arms picked $([$case $end $($arm)*])*)
            }
            ::core::option::Option::None => unreachable!("a selection without a deadline ends with an operation"),
        }
    }};
    (@bind $biased:tt ($([$case:ident $end:ident $($arm:tt)*])*) ([$($until:tt)*] $default:tt) $n:tt) => {{
        let picked = $crate::channel::__private::pick(
            &mut [$($crate::channel::__private::$case($end)),*],
            $crate::channel::__private::Until::$($until)*,
            $biased,
        );
        match picked {
            ::core::option::Option::Some(picked) => {
                $crate::__channel_select!(@arms picked $([$case $end $($arm)*])*)
            }
            ::core::option::Option::None => $default,
        }
    }};

    (@arms $picked:ident) => {{
        let _ = $picked;
        unreachable!("a selection ends with one of its operations")
    }};
    (@arms $picked:ident [recv_case $end:ident $n:tt () ($res:pat) $body:tt] $($rest:tt)*) => {
        if $picked.is($n) {
            let $res = $picked.recv($end);
            $body
        } else {
            $crate::__channel_select!(@arms $picked $($rest)*)
        }
    };
    (@arms $picked:ident [send_case $end:ident $n:tt ($m:expr) ($res:pat) $body:tt] $($rest:tt)*) => {
        if $picked.is($n) {
            let sending = $picked.send($end);
            let $res = sending.complete($m);
            $body
        } else {
            $crate::__channel_select!(@arms $picked $($rest)*)
        }
    };
}
