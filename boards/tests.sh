#!/bin/sh
# The programs of boards/programs on each board, under qemu: what they write, what they take, as many messages as
# everywhere. tests.sh RADDLE, in the repository's root, with the images beside RADDLE.
set -eu
raddle=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong() { echo "wrong: $1"; cat "$folder/out"; exit 1; }
has() { grep -qF -- "$1" "$folder/out" || wrong "$board, $program: no \`$1\`"; }
# A number of the last line, by the word before or behind it.
before() { sed -n "s/.*[^0-9]\([0-9]*\) $1.*/\1/p" "$folder/out"; }
behind() { sed -n "s/.*$1 \([0-9][0-9]*\) of.*/\1/p" "$folder/out"; }
most() {
  [ -n "$2" ] && [ "$2" -le "$3" ] || wrong "$board, $program: $1 is \`$2\`, and may be $3"
  echo "  $1: $2, at most $3"
}
images=$(dirname "$raddle")/raddle-boards

# The code of the machine for a Cortex-M0, with all that is around it on the board.
board=microbit program=image
: > "$folder/out"
most 'bytes of code for a Cortex-M0' "$(wc -c < "$images/microbit.img")" 32768

# A process has 40 bytes beside its locals, which the image asserts when it is compiled.
"$raddle" build --ram 10K -o "$folder/x.rbc" boards/programs/granularity.occ > "$folder/out"
most 'bytes of a process beside its locals' "$(before 'bytes each')" 48
cat "$folder/out"

# What is no program, or a damaged one, is refused: not even a word is believed.
raw() {
  timeout 300 qemu-system-arm -display none -monitor none -serial stdio -semihosting-config enable=on,target=native \
    -M microbit -kernel "$folder/raw.bin" < /dev/null > "$folder/out" 2>&1 && wrong "$program ends well"
  has "$1"
  echo "microbit, $program: $(tr -d '\r' < "$folder/out" | tail -n 1)"
}
program='no program'
cp "$images/microbit.img" "$folder/raw.bin"
raw 'raddle: no program'
program='an instruction that there is not'
"$raddle" build --ram 10K -o "$folder/x.rbc" boards/programs/echo.occ > "$folder/fits"
"$raddle" flash --board microbit -o "$folder/raw.bin" "$folder/x.rbc" > "$folder/fits"
code=$(($(wc -c < "$images/microbit.img") + 8 + $(grep -abo CODE "$folder/x.rbc" | head -n 1 | cut -d : -f 1) + 8))
printf '\377' | dd of="$folder/raw.bin" bs=1 seek="$code" conv=notrunc status=none
raw 'raddle: no bytecode of this version'
program='half a program'
"$raddle" flash --board microbit -o "$folder/raw.bin" "$folder/x.rbc" > "$folder/fits"
dd of="$folder/raw.bin" bs=1 seek="$code" count=0 status=none
raw 'raddle: no bytecode of this version'
program='reals, which this image has not'
mkdir "$folder/plain"
cp "$images/microbit.img" "$folder/plain/microbit-reals.img"
RADDLE_BOARDS=$folder/plain "$raddle" flash --board microbit -o "$folder/raw.bin" boards/programs/reals.occ \
  > "$folder/fits"
raw 'raddle: it has reals, and this image has none'

on_board() {
  board=$1
  folder=$folder/$board
  mkdir "$folder"
  case $board in sifive_e) programs=pin ;; *) programs=interrupt ;; esac
  for program in alternation blink echo commstime deadlock granularity $programs; do
    bytecode=$folder/$program.rbc
    ram=64K
    [ $program = granularity ] && ram=10K
    "$raddle" build --ram $ram -o "$bytecode" "boards/programs/$program.occ" > "$folder/fits"
    # What holds everywhere: `program|messages|typed|written`.
    same=$(sed -n "s/^$program|//p" boards/programs/same.txt)
    keys=$(echo "$same" | cut -d '|' -f 2)
    ended=0
    printf '%s' "$keys" | timeout 300 "$raddle" flash --board $board --run -o "$folder/firmware.bin" "$bytecode" \
      > "$folder/out" 2>&1 || ended=$?
    echo "$board, $program: $(tr -d '\r' < "$folder/out" | tail -n 1)"
    [ "$(before 'blocks of heap')" = 0 ] || wrong "$board, $program takes blocks of the heap after the start"
    if [ -n "$same" ]; then
      has "$(echo "$same" | cut -d '|' -f 3)"
      messages=$(echo "$same" | cut -d '|' -f 1)
      [ "$(before messages)" = "$messages" ] || wrong "$board, $program: everywhere else $messages messages"
    fi
    case $program in
      deadlock) [ $ended != 0 ] || wrong "$board: a deadlock ends well" ;;
      *) [ $ended = 0 ] || wrong "$board, $program ends with $ended" ;;
    esac
    case $program in
      echo)
        # Bytes of every value, more of them than are kept: what comes is no harm, and the full stop ends it.
        for byte in 000 001 010 033 177 200 377; do printf "\\$byte%.0s" $(seq 300); done > "$folder/bytes"
        printf . >> "$folder/bytes"
        timeout 300 "$raddle" flash --board $board --run -o "$folder/firmware.bin" "$bytecode" < "$folder/bytes" \
          > "$folder/out" 2>&1 || wrong "$board, echo of any bytes"
        has ' messages, ' ;;
      blink)
        has '*.*.*.'
        # It waits six times: no more sleeps than that, and a few that a byte on its way has ended. (On a host that
        # stands still, a time may have come before it is waited for.) The Cortex-M3 wakes every second besides.
        [ $board = lm3s6965evb ] || most 'sleeps' "$(before sleeps)" 12 ;;
      interrupt | pin) has '!!!!!' ;;
      commstime) has ' ns a loop'; grep ' ns a loop' "$folder/out" ;;
      granularity)
        # The memory that it was said to take is what it takes: of frames no more, and of all no more.
        frames=$(sed -n 's/^  frames *\([0-9]*\) .*/\1/p' "$folder/fits")
        most 'bytes of frames' "$(before 'bytes of frames')" "$frames"
        used=$(($(behind heap) + $(behind stack)))
        said=$(sed -n 's/.* it takes \([0-9]*\) at most.*/\1/p' "$folder/fits")
        if [ $board = microbit ]; then
          most 'bytes of memory of 10 KB' $used "$said"
        fi ;;
      deadlock)
        has 'deadlock: 2 processes wait, and nothing can go on'
        case $board in
          microbit) has ':5:5 waits to input' ;;
          *)
            has 'these wait for each other in a circle:'
            has '`left` waits to input from channel `in`' ;;
        esac ;;
    esac
  done
}

# Side by side: qemu takes one core each.
running=
for board in lm3s6965evb sifive_e microbit; do
  (on_board $board) > "$folder/$board.log" 2>&1 &
  running="$running $board=$!"
done
failed=0
for one in $running; do
  wait "${one#*=}" || failed=1
  cat "$folder/${one%=*}.log"
done
exit $failed
