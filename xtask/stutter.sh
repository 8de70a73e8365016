#!/usr/bin/env bash
# Runs a program that stands still again and again, with all its threads, as on a host that has no time for it:
#
#     CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/xtask/stutter.sh cargo test -p raddle-core
#
# runs the tests so. A test that fails under it expects something to be over within a time, or not to be. For a second
# or two the program and what it starts run for 1 to 40 ms and stand for 2 to 60, then they are left alone for four:
# a sleep that is stopped seems to be another sleep to who looks for one that lasts. STUTTER_SEED chooses other times.
# The exit code is the program's.
set -u
RANDOM=${STUTTER_SEED:-1}

# Sleeps for so many milliseconds.
pause() {
    sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

setsid "$@" &
program=$!
(
    stops=0
    # Until there is no such group of processes any more.
    while
        pause $((stops++ % 30 ? RANDOM % 40 + 1 : stops > 1 ? 4000 : 1))
        kill -STOP -- "-$program"
    do
        pause $((RANDOM % 59 + 2))
        kill -CONT -- "-$program"
    done
) 2>/dev/null &
trap 'kill -KILL -- "-$program"' INT TERM
wait "$program"
