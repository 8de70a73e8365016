#!/bin/sh
# Traces a short run of each experiment, on one worker and on two, and has `raddle trace check` look whether its times
# add up and whether what was recorded is what was counted. Prints a line a run. The programs are built, without
# optimisation.
set -eu
built=target/debug
trace=target/experiment.rdt
check() {
    echo "$workers: $*"
    rm -f "$trace"
    # Some end with a deadlock.
    RADDLE_WORKERS=$workers RADDLE_TRACE=$trace RADDLE_TRACE_LAST=256M timeout 100 "$@" >target/experiment.out 2>&1 || true
    "$built/raddle" trace check "$trace"
}
for workers in 1 2; do
    check "$built/examples/line" 500 100
    check "$built/examples/line" 500 100 "$workers"
    check "$built/examples/tasks"
    check "$built/examples/threads"
    check "$built/examples/primes"
    check "$built/warehouse" --warehouses 3 --warm-up 0 --transactions 1000
    RADDLE_MIGRATION=off check "$built/warehouse" --warehouses 3 --warm-up 0 --transactions 1000
    check "$built/warehouse" --warehouses 5 --warm-up 0 --transactions 500 --think 200
    check "$built/raytrace" --width 64 --height 36 -o target/experiment.png
    check "$built/raddle" run examples/mandelbrot.occ
    check "$built/raddle" run corpus/run/ring.occ
    check "$built/raddle" run corpus/run/deadlock.occ
done
