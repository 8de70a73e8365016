#!/bin/sh
# Prints the folder of the standard library for aarch64 that belongs to Debian's compiler; nothing, if it has none.
#
# To compile it took half of the time of the tests on aarch64. Debian has it compiled, in a package of the architecture
# arm64, of which apt knows nothing here; so apt is asked with lists and a cache of its own, and nothing is installed.
# Only the compiler's very version will do.
set -eu
version=$(dpkg-query --show --showformat '${Version}' rustc-web || true)
folder=$PWD/target/std-aarch64/$version
library=$folder/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib
ask() {
    apt-get --quiet --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none \
        -o Dir::State="$folder" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder" \
        -o APT::Sandbox::User=root "$@" >&2
}
fetch() {
    mkdir -p lists/partial archives/partial && : > status || return 1
    ask update && ask download "libstd-rust-web-dev:arm64=$version" && dpkg --extract ./*.deb new && mv new/usr usr
}
if test ! -d "$library"; then
    rm -rf "$folder" && mkdir -p "$folder"
    (cd "$folder" && fetch) || echo "no standard library for aarch64 in version '$version': it is compiled" >&2
    (cd "$folder" && rm -rf lists archives status new ./*.deb ./*.bin)
fi
if test -d "$library"; then
    echo "$library"
fi
