//! Which traits each type has: each of ours all those of the type whose place it takes, whatever it holds.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// The names of those of some traits that a type has.
macro_rules! having {
    ($type:ty: $($name:literal $($bound:path)|+,)*) => {{
        let mut names = Vec::new();
        $({
            #[allow(dead_code, reason = "it is used unless the type has the trait")]
            trait Otherwise {
                const HAS: bool = false;
            }
            impl<T: ?Sized> Otherwise for T {}
            #[allow(dead_code, reason = "it is used if the type has the trait")]
            struct Type<T: ?Sized>(PhantomData<T>);
            #[allow(dead_code, reason = "as above")]
            impl<T: ?Sized $(+ $bound)+> Type<T> {
                const HAS: bool = true;
            }
            if <Type<$type>>::HAS {
                names.push($name);
            }
        })*
        names
    }};
}

/// Those that depend on what a type holds.
macro_rules! auto_traits_of {
    ($type:ty) => {
        having! { $type:
            "Send" Send, "Sync" Sync, "Unpin" Unpin, "UnwindSafe" UnwindSafe, "RefUnwindSafe" RefUnwindSafe,
        }
    };
}

macro_rules! traits_of {
    ($type:ty) => {
        having! { $type:
            "Send" Send, "Sync" Sync, "Unpin" Unpin, "UnwindSafe" UnwindSafe, "RefUnwindSafe" RefUnwindSafe,
            "Clone" Clone, "Copy" Copy, "Debug" Debug, "Display" Display, "Default" Default, "Error" Error,
            "PartialEq" PartialEq, "Eq" Eq, "PartialOrd" PartialOrd, "Ord" Ord, "Hash" Hash,
            "Iterator" Iterator, "FusedIterator" FusedIterator, "IntoIterator" IntoIterator,
            "DoubleEndedIterator" DoubleEndedIterator, "ExactSizeIterator" ExactSizeIterator,
            "Deref" Deref, "DerefMut" DerefMut, "From<u8>" From<u8>,
        }
    };
}

/// What of theirs ours has not.
fn missing(ours: &[&'static str], theirs: &[&'static str]) -> Vec<&'static str> {
    theirs.iter().copied().filter(|name| !ours.contains(name)).collect()
}

/// Compares types by their names in two places.
macro_rules! same {
    ($ours:path, $theirs:path: $($type:ident $(<$($life:lifetime),+>)?),+ $(,)?) => {{
        use $ours as ours;
        use $theirs as theirs;
        let mut lacking = Vec::<String>::new();
        $(
            let name = stringify!($type);
            let (ours, theirs) =
                (traits_of!(ours::$type $(<$($life),+>)?), traits_of!(theirs::$type $(<$($life),+>)?));
            lacking.extend(missing(&ours, &theirs).iter().map(|what| format!("{name}: {what}")));
        )+
        lacking
    }};
}

/// Shared, but not sent.
type Guard = std::sync::MutexGuard<'static, u8>;

/// As `same`, of types that hold something.
macro_rules! same_with {
    ($ours:path, $theirs:path: $($type:ident $(<$life:lifetime>)?),+ $(,)?) => {{
        let mut lacking = Vec::new();
        lacking.extend(same_with!(@each traits_of $ours, $theirs, u8: $($type $(<$life>)?),+));
        lacking.extend(same_with!(@each auto_traits_of $ours, $theirs, Cell<u8>: $($type $(<$life>)?),+));
        lacking.extend(same_with!(@each auto_traits_of $ours, $theirs, Rc<u8>: $($type $(<$life>)?),+));
        lacking.extend(same_with!(@each auto_traits_of $ours, $theirs, *const u8: $($type $(<$life>)?),+));
        lacking.extend(same_with!(@each auto_traits_of $ours, $theirs, Guard: $($type $(<$life>)?),+));
        lacking
    }};
    (@each $traits_of:ident $ours:path, $theirs:path, $content:ty: $($type:ident $(<$life:lifetime>)?),+) => {{
        use $ours as ours;
        use $theirs as theirs;
        let mut lacking = Vec::<String>::new();
        $(
            let name = concat!(stringify!($type), " of ", stringify!($content));
            let (ours, theirs) =
                ($traits_of!(ours::$type<$($life,)? $content>), $traits_of!(theirs::$type<$($life,)? $content>));
            lacking.extend(missing(&ours, &theirs).iter().map(|what| format!("{name}: {what}")));
        )+
        lacking
    }};
}

const NOTHING: [String; 0] = [];

#[test]
fn locks_have_the_traits_of_those_of_std() {
    let plain = same!(raddle::sync, std::sync: Barrier, BarrierWaitResult, Condvar, Once, OnceState, WaitTimeoutResult);
    assert_eq!(plain, NOTHING);
    let holding = same_with!(raddle::sync, std::sync:
        Mutex, MutexGuard<'static>, RwLock, RwLockReadGuard<'static>, RwLockWriteGuard<'static>, OnceLock, LazyLock);
    assert_eq!(holding, NOTHING);
}

#[test]
fn channels_have_the_traits_of_those_of_std_and_of_crossbeam() {
    let of_std = same_with!(raddle::sync::mpsc, std::sync::mpsc:
        Sender, SyncSender, Receiver, Iter<'static>, TryIter<'static>, IntoIter, SendError, TrySendError);
    assert_eq!(of_std, NOTHING);
    let errors = same!(raddle::sync::mpsc, std::sync::mpsc: RecvError, TryRecvError, RecvTimeoutError);
    assert_eq!(errors, NOTHING);
    let of_crossbeam = same_with!(raddle::channel, crossbeam_channel:
        Sender, Receiver, Iter<'static>, TryIter<'static>, IntoIter, SendError, TrySendError, SendTimeoutError);
    assert_eq!(of_crossbeam, NOTHING);
    let others = same!(raddle::channel, crossbeam_channel:
        RecvError, TryRecvError, RecvTimeoutError, TrySelectError, SelectTimeoutError, TryReadyError,
        ReadyTimeoutError, Select<'static>, SelectedOperation<'static>);
    assert_eq!(others, NOTHING);
}

#[test]
fn threads_have_the_traits_of_those_of_std() {
    let plain =
        same!(raddle::thread, std::thread: Builder, Thread, ThreadId, Scope<'static, 'static>, AccessError);
    assert_eq!(plain, NOTHING);
    let holding = same_with!(raddle::thread, std::thread: JoinHandle, ScopedJoinHandle<'static>);
    assert_eq!(holding, NOTHING);
}

#[test]
#[allow(deprecated, reason = "a path swap is to compile")]
fn pools_and_scopes_have_the_traits_of_rayons() {
    let all = same!(raddle, rayon_core:
        ThreadPool, ThreadPoolBuilder, ThreadPoolBuildError, ThreadBuilder, Scope<'static>, ScopeFifo<'static>,
        FnContext, BroadcastContext<'static>, Yield, Configuration);
    assert_eq!(all, NOTHING);
}

/// What must not be sent or shared, ours are not either.
#[test]
fn what_stays_with_its_thread_stays_with_it() {
    let stays = [
        auto_traits_of!(raddle::sync::MutexGuard<'static, u8>),
        auto_traits_of!(raddle::sync::RwLockReadGuard<'static, u8>),
        auto_traits_of!(raddle::sync::RwLockWriteGuard<'static, u8>),
        auto_traits_of!(raddle::FnContext),
        auto_traits_of!(raddle::BroadcastContext<'static>),
    ];
    assert!(stays.iter().all(|traits| !traits.contains(&"Send")), "{stays:?}");
    let shared = [
        auto_traits_of!(raddle::sync::Mutex<Rc<u8>>),
        auto_traits_of!(raddle::sync::RwLock<Cell<u8>>),
        auto_traits_of!(raddle::sync::OnceLock<Cell<u8>>),
        auto_traits_of!(raddle::sync::mpsc::Receiver<u8>),
        auto_traits_of!(raddle::channel::Sender<Rc<u8>>),
    ];
    assert!(shared.iter().all(|traits| !traits.contains(&"Sync")), "{shared:?}");
}
