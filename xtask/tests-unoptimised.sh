#!/bin/sh
# Cargo's `rustc-wrapper`: compiles the runtime's large test programs without optimisation, and all else as it is told.
#
# A package has one level for its library and for its tests. The runtime must be optimised, or its tests take minutes;
# but to optimise the tests themselves took four times as long as to compile them. What is optimised for release
# (`opt-level=3`), with all its tests, stays so.
case "${CARGO_PKG_NAME-}" in
raddle-core | raddle-explore | raddle-hang | raddle-job | raddle-net | raddle-recorder | raddle-stm | raddle-sync | \
raddle-thread)
    case "$* " in
    *" --crate-name it "*" opt-level=1 "*) exec "$@" -C opt-level=0 ;;
    esac
    ;;
esac
exec "$@"
