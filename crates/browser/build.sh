#!/usr/bin/env bash
# Builds the engines for WebAssembly into the file named; says in one line what is missing where they cannot be
# built (exit status 3). A toolchain of rustup's with the target is taken first, then Debian's rustc-web with
# rust-web-src, which builds the standard library too.
set -euo pipefail
cd "$(dirname "$0")/../.."
to=${1:?usage: build.sh FILE, or build.sh --can}
target=wasm32-unknown-unknown
variable=CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN
# A directory of its own: two compilers in one would make each other's work anew.
directory=${CARGO_TARGET_DIR:-target}/wasm

lacking() {
    echo "the engines are not built for browsers: $1" >&2
    exit 3
}

has_std() {
    local libraries
    libraries=$("$1" --print target-libdir --target "$target" 2>/dev/null) && compgen -G "$libraries/libstd-*.rlib" >/dev/null
}

# rustup's compiler has a linker; of Debian's, lld of the same LLVM.
linker() {
    local sysroot
    for compiler in rustc "${HOME:-/}"/.rustup/toolchains/*/bin/rustc; do
        sysroot=$("$compiler" --print sysroot 2>/dev/null) || continue
        compgen -G "$sysroot/lib/rustlib/*/bin/rust-lld" && return
    done
    for version in 23 22 21 20 19; do
        command -v "wasm-ld-$version" && return
    done
    command -v wasm-ld
}

command -v cargo >/dev/null || lacking "no cargo on PATH"
export CARGO_TARGET_DIR=$directory
arguments=(rustc --quiet --locked --package forebay-browser --lib --crate-type cdylib --target "$target" --profile wasm ${JOBS:+-j "$JOBS"})
if has_std rustc; then
    :
elif [ -x /usr/bin/rustc ] && [ -f "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    arguments+=(-Zbuild-std=std,panic_abort)
    found=$(linker | head -n 1) || true
    [ -n "$found" ] || lacking "no linker for WebAssembly (apt-get install lld-22)"
    export "${variable}_LINKER=$found"
else
    lacking "no Rust for $target (rustup target add $target, or apt-get install rustc-web rust-web-src)"
fi
# A stack that deep scenarios do not exhaust, and the memory that a worker may have; instructions that every browser
# since 2021 knows.
export "${variable}_RUSTFLAGS=-C link-arg=-zstack-size=4194304 -C link-arg=--max-memory=2147483648 -C target-feature=+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"
# Whether it can be built here was all that was asked.
[ "$to" != --can ] || exit 0
cargo "${arguments[@]}"
mkdir -p "$(dirname "$to")"
built=$directory/$target/wasm/forebay_browser.wasm
if command -v wasm-opt >/dev/null && wasm-opt ${WASM_OPT:--O3} --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals "$built" -o "$to" 2>/dev/null; then
    :
else
    cp "$built" "$to"
fi
