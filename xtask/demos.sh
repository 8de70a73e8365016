#!/bin/sh
# Long runs of the demos: each again and again for SECONDS, on 1, 2 and 8 workers; what it writes must be the same each
# time, and on each.
#
#   xtask/demos.sh target/release/raddle [SECONDS]
set -eu
raddle=$1 seconds=${2:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
all="life mandelbrot flocking balls lu blocks"
for demo in $all; do
    wanted=$("$raddle" run --workers 1 "$root/examples/$demo.occ" | cksum)
    for workers in 1 2 8; do
        end=$(($(date +%s) + seconds)) runs=0
        while [ "$(date +%s)" -lt "$end" ]; do
            got=$("$raddle" run --workers "$workers" "$root/examples/$demo.occ" | cksum)
            if [ "$got" != "$wanted" ]; then
                echo "$demo on $workers workers writes something else after $runs runs" >&2
                exit 1
            fi
            runs=$((runs + 1))
        done
        echo "$demo, $workers workers: $runs runs the same"
    done
done
