//! Owns: places of the program in 32 bits, as records hold them: of spawn sites, marks and texts. And `Mark`.
//! May use: nothing.
//! Never: following what did not come from here.
//!
//! It uses addresses of what stays as long as the program.

use std::panic::Location;

/// The name of a mark, a counter or a span: a static of the program's. [`span!`], [`mark!`] and [`counter!`] make it.
///
/// It stands for the place in the source at which it was made, too.
///
/// [`span!`]: crate::trace::span!
/// [`mark!`]: crate::trace::mark!
/// [`counter!`]: crate::trace::counter!
#[derive(Debug)]
pub struct Mark {
    name: &'static str,
    file: &'static str,
    line: u32,
    /// Of a name that is found when somebody asks: by whom, of what.
    told: Option<(Teller, usize)>,
}

/// Says the name of what a word stands for.
type Teller = fn(usize) -> String;

impl Mark {
    /// A name.
    #[track_caller]
    pub const fn new(name: &'static str) -> Mark {
        let site = Location::caller();
        Mark::at(name, site.file(), site.line())
    }

    /// A name that stands for this place in the source.
    pub const fn at(name: &'static str, file: &'static str, line: u32) -> Mark {
        Mark { name, file, line, told: None }
    }

    /// A name that `tell` says, of that word, when a trace is written. For what takes long to name.
    #[doc(hidden)]
    pub const fn told_by(tell: Teller, word: usize) -> Mark {
        Mark { name: "", file: "", line: 0, told: Some((tell, word)) }
    }

    /// `NAME (FILE:LINE)`.
    #[doc(hidden)]
    pub fn text(&self) -> String {
        if let Some((tell, word)) = self.told {
            return tell(word);
        }
        format!("{} ({}:{})", self.name, self.file, self.line)
    }
}

/// Where a spawn site lies, counted from one of this crate: 32 bits are enough within one program. 0 if not.
pub(crate) fn place_of(site: &'static Location<'static>) -> u32 {
    let distance = std::ptr::from_ref(site).expose_provenance().wrapping_sub(origin()) as isize;
    i32::try_from(distance).map_or(0, |distance| distance as u32)
}

/// Undoes `place_of`.
///
/// # Safety
/// `place` came from it, in this process.
pub unsafe fn site_at(place: u32) -> Option<&'static Location<'static>> {
    let address = origin().wrapping_add_signed(place as i32 as isize);
    let site = std::ptr::with_exposed_provenance::<Location<'static>>(address);
    // SAFETY: the caller vouches that there was a location of the program there, and those stay.
    (place != 0).then(|| unsafe { &*site })
}

/// As [`place_of`], of the name of a mark.
pub(crate) fn place_of_mark(mark: &'static Mark) -> u32 {
    let distance = std::ptr::from_ref(mark).expose_provenance().wrapping_sub(origin()) as isize;
    i32::try_from(distance).map_or(0, |distance| distance as u32)
}

/// Undoes `place_of_mark`.
///
/// # Safety
/// `place` came from it, in this process.
pub unsafe fn mark_at(place: u32) -> Option<&'static Mark> {
    let address = origin().wrapping_add_signed(place as i32 as isize);
    let mark = std::ptr::with_exposed_provenance::<Mark>(address);
    // SAFETY: the caller vouches that there was a mark of the program there, and those stay.
    (place != 0).then(|| unsafe { &*mark })
}

/// As [`place_of`], of a text in the program.
pub(crate) fn place_of_text(text: &'static str) -> u32 {
    let distance = text.as_ptr().expose_provenance().wrapping_sub(origin()) as isize;
    i32::try_from(distance).map_or(0, |distance| distance as u32)
}

/// Undoes `place_of_text`.
///
/// # Safety
/// `place` came from it, in this process, and the text has so many bytes.
pub unsafe fn text_at(place: u32, bytes: u32) -> Option<&'static str> {
    let address = origin().wrapping_add_signed(place as i32 as isize);
    let first = std::ptr::with_exposed_provenance::<u8>(address);
    if place == 0 {
        return None;
    }
    // SAFETY: the caller vouches that there was a text of the program there, and those stay.
    let bytes = unsafe { std::slice::from_raw_parts(first, bytes as usize) };
    std::str::from_utf8(bytes).ok()
}

fn origin() -> usize {
    static HERE: &Location<'static> = Location::caller();
    std::ptr::from_ref(HERE).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_found_again() {
        let here = Location::caller();
        // SAFETY: the place was just made.
        assert_eq!(unsafe { site_at(place_of(here)) }, Some(here));
        // SAFETY: 0 is no place.
        assert_eq!(unsafe { site_at(0) }, None);
    }
}
