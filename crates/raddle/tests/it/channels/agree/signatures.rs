use super::*;
use std::fmt::Debug;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

fn shared<T: Send + Sync>() {}
fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}
fn shown<T: Debug>() {}
fn plain<T: Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static>() {}
fn fused<T: FusedIterator>() {}

#[test]
fn their_traits() {
    shared::<Sender<u8>>();
    shared::<Receiver<u8>>();
    shared::<Select<'static>>();
    unwinds::<Sender<Rc<u8>>>();
    unwinds::<Receiver<Rc<u8>>>();
    shown::<Sender<fn()>>();
    shown::<channel::Iter<'static, Rc<u8>>>();
    shown::<channel::TryIter<'static, Rc<u8>>>();
    shown::<channel::IntoIter<Rc<u8>>>();
    fused::<channel::Iter<'static, u8>>();
    fused::<channel::IntoIter<u8>>();
    plain::<SendError<u8>>();
    plain::<TrySendError<u8>>();
    plain::<SendTimeoutError<u8>>();
    plain::<RecvError>();
    plain::<TryRecvError>();
    plain::<RecvTimeoutError>();
    plain::<TrySelectError>();
    plain::<SelectTimeoutError>();
    plain::<TryReadyError>();
    plain::<ReadyTimeoutError>();
    // A message need not be `Send` as long as it stays on its thread.
    let (s, r) = bounded(1);
    s.send(Rc::new(5)).unwrap();
    assert_eq!(*r.recv().unwrap(), 5);
}

#[test]
fn their_debug_texts() {
    let (s, r) = unbounded::<u8>();
    assert_eq!(format!("{s:?} {r:?}"), "Sender { .. } Receiver { .. }");
    assert_eq!(format!("{:?} {:?}", r.iter(), r.try_iter()), "Iter { .. } TryIter { .. }");
    s.send(1).unwrap();
    let mut select = Select::default();
    assert_eq!(format!("{select:?}"), "Select { .. }");
    select.recv(&r);
    let operation = select.select();
    assert_eq!(format!("{operation:?}"), "SelectedOperation { .. }");
    assert_eq!(operation.recv(&r), Ok(1));
    assert_eq!(format!("{:?}", r.into_iter()), "IntoIter { .. }");
}
