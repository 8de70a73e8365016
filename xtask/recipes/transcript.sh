#!/bin/sh
# Succeeds if what the command says, 100 columns wide, stands in the transcript of the helps word for word.
set -eu
said=$(COLUMNS=100 "$@")
export said
exec awk '
    { text = text $0 "\n" }
    END { if (!index(text, ENVIRON["said"])) { print "not in the transcript:\n" ENVIRON["said"]; exit 1 } }
' crates/raddle-cli/tests/transcripts/help.trycmd
