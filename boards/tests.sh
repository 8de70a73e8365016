#!/bin/sh
# The programs of boards/programs on the board, under qemu: what they write, and as many messages as natively.
# tests.sh RADDLE, in the repository's root.
set -eu
raddle=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong() { echo "wrong: $1"; cat "$folder/out"; exit 1; }
has() { grep -qF -- "$1" "$folder/out" || wrong "$board, $program: no \`$1\`"; }
# Natively it writes to a terminal's two streams, on a board to one line.
messages() { sed -n 's/.*[^0-9]\([0-9]*\) messages.*/\1/p'; }
for board in lm3s6965evb; do
  for program in blink echo commstime deadlock; do
    bytecode=$folder/$program.rbc
    "$raddle" build -o "$bytecode" "boards/programs/$program.occ"
    ended=0
    printf 'a light, and 3 more.' |
      timeout 300 cargo xtask flash --board $board --run "$bytecode" > "$folder/out" 2>&1 || ended=$?
    case $program in
      blink) has '*.*.*.' ;;
      echo) has 'A LIGHT, AND 3 MORE.' ;;
      commstime) has ' ns a loop'; has '; 0 blocks of heap after the start' ;;
      deadlock)
        has 'deadlock: 2 processes wait, and nothing can go on'
        has 'these wait for each other in a circle:'
        has '`left` waits to input from channel `in`' ;;
    esac
    case $program in
      deadlock) [ $ended != 0 ] || wrong "$board: a deadlock ends well" ;;
      blink) [ $ended = 0 ] || wrong "$board, $program ends with $ended" ;;
      commstime) [ $ended = 0 ] || wrong "$board, $program ends with $ended" ;;
      echo)
        [ $ended = 0 ] || wrong "$board, $program ends with $ended"
        native=$(printf 'a light, and 3 more.' |
          "$raddle" run --workers 1 --stats "$bytecode" 2>&1 > /dev/null | messages)
        [ "$(messages < "$folder/out")" = "$native" ] || wrong "$board, $program: natively $native messages" ;;
    esac
    echo "$board, $program: $(tr -d '\r' < "$folder/out" | tail -n 1)"
  done
done
