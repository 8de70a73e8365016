#!/bin/sh
# The programs of boards/programs/same.txt write and communicate here what is said there. same.sh RADDLE OPTION...
set -eu
raddle=$1
shift
said=$(mktemp)
trap 'rm -f "$said"' EXIT
grep -v '^#' boards/programs/same.txt | while IFS='|' read -r program messages typed written; do
  wrote=$(printf '%s' "$typed" | "$raddle" run --stats "$@" "boards/programs/$program.occ" 2> "$said")
  passed=$(sed -n 's/.*[^0-9]\([0-9]*\) messages.*/\1/p' "$said")
  echo "$program, $*: $passed messages, \`$wrote\`"
  if [ "$wrote" != "$written" ] || [ "$passed" != "$messages" ]; then
    echo "wrong: everywhere else $messages messages, \`$written\`"
    exit 1
  fi
done
