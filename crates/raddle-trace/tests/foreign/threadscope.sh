#!/bin/sh
# Opens an event log in ThreadScope on a virtual screen, until the timelines of both workers show slices in its dark
# green: threadscope.sh FILE.eventlog [SCREENSHOT.png]. Exits with 1 if they do not within a minute.
set -eu
file=$1
picture=${2:-}
folder=$(mktemp -d)
screen=
window=
end() {
    kill $window $screen 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
# The server names the display that was free on descriptor 3.
Xvfb -displayfd 3 -screen 0 1200x600x24 3>"$folder/display" 2>/dev/null &
screen=$!
look() { DISPLAY=:$(cat "$folder/display") "$@"; }
tries_left=600
until [ -s "$folder/display" ]; do
    tries_left=$((tries_left - 1))
    [ "$tries_left" -gt 0 ] || { echo 'no screen' >&2; exit 1; }
    sleep 0.1
done
HOME=$folder GDK_BACKEND=x11 look threadscope "$file" >"$folder/output" 2>&1 &
window=$!
# Without a window manager the window chooses its size, in the corner. Its timelines are below the activity graph and to
# the right of their names: bands of rows with dark green pixels, between rows without.
timelines() {
    look import -window root "$folder/seen.png" 2>/dev/null || return 0
    convert "$folder/seen.png" -crop 880x150+300+250 +repage -fill white +opaque '#006600' -fill black \
        -opaque '#006600' -colorspace gray -negate -scale '1x150!' -threshold 0.1% -depth 8 gray:- |
        od -An -v -tu1 -w1 | uniq | grep -c 255 || true
}
until [ "$(timelines)" -ge 2 ]; do
    tries_left=$((tries_left - 1))
    if [ "$tries_left" -le 0 ] || ! kill -0 "$window" 2>/dev/null; then
        echo "ThreadScope does not show two timelines" >&2
        cat "$folder/output" >&2
        exit 1
    fi
    sleep 0.1
done
[ -z "$picture" ] || cp "$folder/seen.png" "$picture"
echo "ThreadScope shows $(timelines) timelines"
