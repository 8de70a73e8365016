use super::*;
use std::error::Error;

fn text(error: impl Error) -> (String, String) {
    // The original puts some of them into quotation marks.
    (format!("{error:?}").replace('"', ""), error.to_string())
}

#[test]
fn their_texts() {
    let both = |debug: &str, display: &str| (debug.to_owned(), display.to_owned());
    let none = "sending on a disconnected channel";
    let gone = "receiving on an empty and disconnected channel";
    assert_eq!(text(SendError(1)), both("SendError(..)", none));
    assert_eq!(text(TrySendError::Full(1)), both("Full(..)", "sending on a full channel"));
    assert_eq!(text(TrySendError::Disconnected(1)), both("Disconnected(..)", none));
    let late = "timed out waiting on send operation";
    assert_eq!(text(SendTimeoutError::Timeout(1)), both("SendTimeoutError(..)", late));
    assert_eq!(text(SendTimeoutError::Disconnected(1)), both("SendTimeoutError(..)", none));
    assert_eq!(text(RecvError), both("RecvError", gone));
    assert_eq!(text(TryRecvError::Empty), both("Empty", "receiving on an empty channel"));
    assert_eq!(text(TryRecvError::Disconnected), both("Disconnected", gone));
    let late = "timed out waiting on receive operation";
    assert_eq!(text(RecvTimeoutError::Timeout), both("Timeout", late));
    assert_eq!(
        text(RecvTimeoutError::Disconnected),
        both("Disconnected", "channel is empty and disconnected")
    );
    assert_eq!(text(TrySelectError), both("TrySelectError", "all operations in select would block"));
    assert_eq!(text(SelectTimeoutError), both("SelectTimeoutError", "timed out waiting on select"));
    assert_eq!(format!("{TryReadyError:?} {ReadyTimeoutError:?}"), "TryReadyError ReadyTimeoutError");
    assert_eq!(format!("{:>16}|{:<16}|", SendError(1), RecvError).len(), none.len() + gone.len() + 2);
}

#[test]
fn their_questions_and_contents() {
    assert_eq!(SendError(1).into_inner(), 1);
    assert_eq!(TrySendError::Full(2).into_inner(), 2);
    assert_eq!(TrySendError::Disconnected(3).into_inner(), 3);
    assert_eq!(SendTimeoutError::Timeout(4).into_inner(), 4);
    assert_eq!(SendTimeoutError::Disconnected(5).into_inner(), 5);
    assert!(TrySendError::Full(1).is_full() && !TrySendError::Full(1).is_disconnected());
    assert!(SendTimeoutError::Timeout(1).is_timeout() && SendTimeoutError::Disconnected(1).is_disconnected());
    assert!(TryRecvError::Empty.is_empty() && TryRecvError::Disconnected.is_disconnected());
    assert!(RecvTimeoutError::Timeout.is_timeout() && RecvTimeoutError::Disconnected.is_disconnected());
}

#[test]
fn they_convert() {
    assert_eq!(TrySendError::from(SendError(1)), TrySendError::Disconnected(1));
    assert_eq!(SendTimeoutError::from(SendError(1)), SendTimeoutError::Disconnected(1));
    assert_eq!(TryRecvError::from(RecvError), TryRecvError::Disconnected);
    assert_eq!(RecvTimeoutError::from(RecvError), RecvTimeoutError::Disconnected);
    let copy = SendError("copied");
    let boxed: Box<dyn Error + Send> = Box::new(copy);
    assert_eq!((copy, boxed.to_string()), (copy, String::from("sending on a disconnected channel")));
}
