#!/usr/bin/env bash
# Builds a wheel for a target such as aarch64-unknown-linux-gnu into a folder; says in one line what is missing where it
# cannot be built (exit status 3). Needs maturin and, for Linux, zig on PATH; a target that rustup has no standard
# library of is built by Debian's rustc-web with rust-web-src.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${1:?usage: wheel.sh TARGET FOLDER}
to=${2:?usage: wheel.sh TARGET FOLDER}
arguments=(build --release --locked --quiet --strip --target "$target" --out "$to" ${JOBS:+-j "$JOBS"})

lacking() {
    echo "no wheel for $target: $1" >&2
    exit 3
}

# Against the C library of 2018 (RHEL 8, Debian 10), or musl's of 2020: zig has them all, so that it does not matter where
# a wheel is built, and maturin refuses what needs a newer one. Other systems have no such choice to make.
case $target in
*-linux-musl*) arguments+=(--zig --compatibility musllinux_1_2) ;;
*-linux-*) arguments+=(--zig --compatibility manylinux_2_28) ;;
esac

libraries=$(rustc --print target-libdir --target "$target" 2>/dev/null) || lacking "no such target"
if ! compgen -G "$libraries/libstd-*.rlib" >/dev/null; then
    if [ ! -x /usr/bin/rustc ] || [ ! -f "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
        lacking "no Rust for it (rustup target add $target, or apt-get install rustc-web rust-web-src)"
    fi
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    # A directory of its own: two compilers in one would make each other's work anew.
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/own-std
    arguments+=(-Zbuild-std=std,panic_unwind)
fi
exec maturin "${arguments[@]}"
