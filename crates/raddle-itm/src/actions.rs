//! Owns: what the program wants to be called when a transaction has committed, or was rolled back.
//! May use: nothing.
//! Never: a transaction.

use std::ffi::c_void;

/// A function of the program's, with what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct UserAction {
    function: extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
}

impl UserAction {
    pub(crate) fn call(self) {
        (self.function)(self.argument);
    }
}

/// Those of one transaction.
#[derive(Default)]
pub(crate) struct Actions {
    on_commit: Vec<UserAction>,
    on_undo: Vec<UserAction>,
}

impl Actions {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.on_commit.is_empty() && self.on_undo.is_empty()
    }

    pub(crate) const fn mark(&self) -> (usize, usize) {
        (self.on_commit.len(), self.on_undo.len())
    }

    pub(crate) fn on_commit(&mut self, function: extern "C-unwind" fn(*mut c_void), argument: *mut c_void) {
        self.on_commit.push(UserAction { function, argument });
    }

    pub(crate) fn on_undo(&mut self, function: extern "C-unwind" fn(*mut c_void), argument: *mut c_void) {
        self.on_undo.push(UserAction { function, argument });
    }

    /// In the order in which they came. The caller's transaction is over: they may begin others.
    pub(crate) fn commit(self) {
        self.on_commit.into_iter().for_each(UserAction::call);
    }

    /// The last one since `mark` that is to be called now.
    pub(crate) fn undone(&mut self, mark: (usize, usize)) -> Option<UserAction> {
        self.on_commit.truncate(mark.0);
        if self.on_undo.len() > mark.1 { self.on_undo.pop() } else { None }
    }
}
