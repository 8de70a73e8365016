//! Owns: `Few`: one value without memory of its own, or any number.
//! May use: nothing.
//! Never: what it is of.

use std::ops::{Deref, DerefMut};

/// What mostly is one.
#[derive(Debug)]
pub(crate) enum Few<T> {
    /// Here.
    One([T; 1]),
    /// Any number, also none.
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// All of them, where they stay if this is moved.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Few::One(one) => one.into(),
            Few::Many(all) => all,
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::One(one) => one,
            Few::Many(all) => all,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(one) => one,
            Few::Many(all) => all,
        }
    }
}
