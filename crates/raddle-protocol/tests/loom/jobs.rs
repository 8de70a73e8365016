//! Forks: a flow that promotes and comes back, against thieves. A frame is let go as soon as its fork is back.

use crate::{ALL, check, go};
use raddle_protocol::model::{Flow, Frame, JobQueue};
use std::sync::Arc;

#[test]
fn a_thief_and_the_flow_that_comes_back() {
    check(ALL, || {
        let queue = Arc::new(JobQueue::default());
        let thief = {
            let queue = queue.clone();
            go(move || queue.run_oldest())
        };
        let flow = Flow::default();
        let mut frame = Frame::default();
        flow.fork(&mut frame);
        assert!(flow.promote(&queue));
        let taken = flow.join(&mut frame);
        assert_eq!(thief.join().unwrap(), taken);
        assert!(!queue.run_oldest());
    });
}

#[test]
fn two_thieves_take_the_oldest_of_three_and_the_rest_comes_back() {
    check(Some(2), || {
        let queue = Arc::new(JobQueue::default());
        let thieves = [(); 2].map(|()| {
            let queue = queue.clone();
            go(move || queue.run_oldest())
        });
        let flow = Flow::default();
        let mut frames: [Frame; 3] = Default::default();
        frames.iter_mut().for_each(|frame| flow.fork(frame));
        assert!(flow.promote(&queue));
        assert!(flow.promote(&queue));
        let taken: Vec<bool> = frames.iter_mut().rev().map(|frame| flow.join(frame)).collect();
        assert!(!taken[0], "it was never promoted");
        let ran = thieves.into_iter().filter_map(|thief| thief.join().ok()).filter(|&ran| ran).count();
        assert_eq!(taken.iter().filter(|&&taken| taken).count(), ran);
        assert!(queue.is_wanted());
    });
}

#[test]
fn a_frame_is_used_again_at_once() {
    check(Some(2), || {
        let queue = Arc::new(JobQueue::default());
        let thief = {
            let queue = queue.clone();
            go(move || usize::from(queue.run_oldest()) + usize::from(queue.run_oldest()))
        };
        let flow = Flow::default();
        let mut taken = 0;
        for _ in 0..2 {
            let mut frame = Frame::default();
            flow.fork(&mut frame);
            flow.promote(&queue);
            taken += usize::from(flow.join(&mut frame));
        }
        assert_eq!(thief.join().unwrap(), taken);
    });
}
