//! Owns: `OnLate`: what is done when something has not come in time.
//! May use: `error`.
//! Never: doing it; that is the engine's.

use crate::error::Late;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What is done when something has not come in time.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnLate {
    /// Who waits gets the error; the job ends when the net is dropped. The other ranks know nothing of it until then.
    #[default]
    Error,
    /// The rank says the error on its standard error, and the whole job ends at once (`MPI_Abort`, code 70).
    Abort,
    /// Who waits gets the error, and all other ranks that wait, or are going to, get [`NetError::GivenUp`] within a
    /// tenth of a second. Dropped, the net waits for the others to drop theirs, and then the job ends: so each of them
    /// can put away what it has.
    ///
    /// [`NetError::GivenUp`]: crate::NetError::GivenUp
    ErrorOnAll,
    /// The program decides, on the stack of who waits.
    Ask(Arc<dyn Fn(&Late) -> LateAnswer + Send + Sync>),
}

/// What a program answers when it is [asked](OnLate::Ask).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateAnswer {
    /// For so long again.
    Wait(Duration),
    /// As [`OnLate::Error`].
    Error,
    /// As [`OnLate::Abort`].
    Abort,
    /// As [`OnLate::ErrorOnAll`].
    ErrorOnAll,
}

impl OnLate {
    /// The program decides, by this.
    pub fn ask(answer: impl Fn(&Late) -> LateAnswer + Send + Sync + 'static) -> OnLate {
        OnLate::Ask(Arc::new(answer))
    }

    pub(crate) fn answer(&self, late: &Late) -> LateAnswer {
        match self {
            OnLate::Error => LateAnswer::Error,
            OnLate::Abort => LateAnswer::Abort,
            OnLate::ErrorOnAll => LateAnswer::ErrorOnAll,
            OnLate::Ask(answer) => answer(late),
        }
    }
}

const NAMES: [&str; 4] = ["Error", "Abort", "ErrorOnAll", "Ask"];

impl OnLate {
    /// As ranks tell each other.
    pub(crate) fn number(&self) -> u8 {
        match self {
            OnLate::Error => 0,
            OnLate::Abort => 1,
            OnLate::ErrorOnAll => 2,
            OnLate::Ask(_) => 3,
        }
    }

    /// The name of that number.
    pub(crate) fn name(number: u8) -> &'static str {
        NAMES.get(usize::from(number)).copied().unwrap_or("something unknown")
    }
}

impl fmt::Debug for OnLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OnLate::name(self.number()))
    }
}
