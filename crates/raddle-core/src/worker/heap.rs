//! Owns: `DueHeap`, what is due at a time, the earliest first, out of which anything may be taken.
//! May use: nothing.
//! Never: a place that is looked for; a ticket says where it is.
//!
//! A heap of four children each (D. B. Johnson, "Priority queues with update and finding minimum spanning trees",
//! 1975), as Go's timers have it: a parent and its children lie in one or two cache lines, and the tree is half as deep
//! as a binary one. Who is in the heap has a place in a table, which says where in the heap it is; so it is taken out
//! without a search. An ordered map did the same with three times the code.
//!
//! Of what is due at the same time, what was put first is first.

/// So many children each.
const CHILDREN: usize = 4;
/// Room for more than so many is given back when the heap is empty.
const KEPT: usize = 1024;

/// What is due at times.
pub(super) struct DueHeap<T> {
    heap: Vec<DueEntry>,
    places: Vec<DuePlace<T>>,
    /// The free places.
    free: Vec<u32>,
    put: u64,
}

/// Where something is, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    number: u64,
    place: u32,
}

#[derive(Clone, Copy)]
struct DueEntry {
    at: u64,
    ticket: Ticket,
}

struct DuePlace<T> {
    /// Where in the heap it is.
    index: usize,
    /// Of what the place holds; of nothing if there is no value.
    number: u64,
    value: Option<T>,
}

impl DueEntry {
    fn key(&self) -> (u64, u64) {
        (self.at, self.ticket.number)
    }
}

impl<T> DueHeap<T> {
    pub(super) fn new() -> Self {
        DueHeap { heap: Vec::new(), places: Vec::new(), free: Vec::new(), put: 0 }
    }

    /// When the first is due.
    pub(super) fn first(&self) -> Option<u64> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Puts what is due at `at`.
    ///
    /// # Panics
    /// If it would be the 2^32nd.
    pub(super) fn put(&mut self, at: u64, value: T) -> Ticket {
        let (number, index) = (self.put, self.heap.len());
        self.put += 1;
        let new = DuePlace { index, number, value: Some(value) };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = new;
                place
            }
            None => {
                let place = u32::try_from(self.places.len()).expect("no more than 2^32 alarms of one worker");
                self.places.push(new);
                place
            }
        };
        let ticket = Ticket { number, place };
        self.heap.push(DueEntry { at, ticket });
        self.rise(index);
        ticket
    }

    /// Whether it is still there.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        let place = self.places.get(ticket.place as usize);
        place.is_some_and(|place| place.number == ticket.number && place.value.is_some())
    }

    /// Takes it out, if it is still there.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<T> {
        if self.has(ticket) { self.remove(self.places[ticket.place as usize].index) } else { None }
    }

    /// Takes the first out if it is due at `now`.
    pub(super) fn take_due(&mut self, now: u64) -> Option<T> {
        if self.first()? <= now { self.remove(0) } else { None }
    }

    fn remove(&mut self, index: usize) -> Option<T> {
        let place = self.heap.swap_remove(index).ticket.place;
        if index < self.heap.len() {
            self.sink(index);
            self.rise(index);
        }
        let value = self.places[place as usize].value.take();
        self.free.push(place);
        if self.heap.is_empty() && self.places.len() > KEPT {
            *self = DueHeap { put: self.put, ..DueHeap::new() };
        }
        value
    }

    /// Lets go up what may be before its parents.
    fn rise(&mut self, mut index: usize) {
        let entry = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / CHILDREN;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.lay(index, self.heap[parent]);
            index = parent;
        }
        self.lay(index, entry);
    }

    /// Lets go down what may be behind its children.
    fn sink(&mut self, mut index: usize) {
        let entry = self.heap[index];
        loop {
            let children = CHILDREN * index + 1..self.heap.len().min(CHILDREN * (index + 1) + 1);
            let Some(least) = children.min_by_key(|&child| self.heap[child].key()) else { break };
            if entry.key() <= self.heap[least].key() {
                break;
            }
            self.lay(index, self.heap[least]);
            index = least;
        }
        self.lay(index, entry);
    }

    fn lay(&mut self, index: usize, entry: DueEntry) {
        self.heap[index] = entry;
        self.places[entry.ticket.place as usize].index = index;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A generator of numbers: SplitMix64.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }

    /// Against an ordered map, with times that are often the same, and tickets that are used up.
    #[test]
    fn it_does_what_an_ordered_map_does() {
        for seed in 0..50 {
            let (mut heap, mut map, mut random) = (DueHeap::new(), BTreeMap::new(), seed);
            let mut tickets = Vec::new();
            for step in 0..3000_u64 {
                match next(&mut random) % 8 {
                    0..4 => {
                        let at = next(&mut random) % 100;
                        let ticket = heap.put(at, step);
                        map.insert((at, ticket.number), step);
                        tickets.push((ticket, at));
                    }
                    4..6 if !tickets.is_empty() => {
                        let at = next(&mut random) as usize % tickets.len();
                        let (ticket, at) = tickets[at];
                        assert_eq!(heap.has(ticket), map.contains_key(&(at, ticket.number)));
                        assert_eq!(heap.take(ticket), map.remove(&(at, ticket.number)));
                    }
                    _ => {
                        let now = next(&mut random) % 100;
                        let first = map.first_entry().filter(|first| first.key().0 <= now);
                        assert_eq!(heap.take_due(now), first.map(|first| first.remove()));
                    }
                }
                assert_eq!(heap.first(), map.first_key_value().map(|((at, _), _)| *at));
            }
            while let Some((_, value)) = map.pop_first() {
                assert_eq!(heap.take_due(100), Some(value));
            }
            assert_eq!(heap.take_due(u64::MAX), None);
        }
    }

    #[test]
    fn an_empty_heap_keeps_no_room_of_its_peak() {
        let mut heap = DueHeap::new();
        let old: Vec<Ticket> = (0..100_000).map(|at| heap.put(at, at)).collect();
        old.iter().rev().for_each(|ticket| assert!(heap.take(*ticket).is_some()));
        assert!(
            heap.places.capacity() <= KEPT && heap.heap.capacity() <= KEPT && heap.free.capacity() <= KEPT
        );
        let new = heap.put(5, 5);
        assert!(!old.contains(&new) && old.iter().all(|ticket| !heap.has(*ticket)));
    }
}
