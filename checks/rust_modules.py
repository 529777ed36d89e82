"""Builds modules of Rust for WebAssembly with the toolchain of this machine, as `crates/browser/build.sh` finds one.

`python -m checks.rust_modules FOLDER` builds those of the examples.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The manifest that `forebay new --algorithm` writes. Read as a file, because the page's tests need no forebay.
MANIFEST = ROOT / "python" / "forebay" / "algorithms" / "templates" / "rust" / "Cargo.toml.in"
TARGET = "wasm32-unknown-unknown"


def can_build() -> bool:
    """Whether this machine has a compiler for WebAssembly."""
    command = [str(ROOT / "crates" / "browser" / "build.sh"), "--can"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def built(source: Path, folder: Path) -> Path:
    """The module of one file, in a folder for the build. Equal files are one module, whose name is their hash."""
    name = f"m{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").write_bytes(source.read_bytes())
    manifest = MANIFEST.read_text(encoding="utf-8").replace("@NAME@", name)
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    return built_package(folder)


def built_package(folder: Path) -> Path:
    """The module of a package of Cargo."""
    manifest = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
    # One folder for all: the standard library is built once.
    target = ROOT / "target" / "modules"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    arguments = ["cargo", "build", "--quiet", "--release", "--offline", "--target", TARGET]
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", TARGET], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not list(Path(libraries).glob("libcore-*.rlib")):
        linker = next(
            path for version in (23, 22, 21, 20, 19) if (path := Path(f"/usr/bin/wasm-ld-{version}")).exists()
        )
        environment |= {"RUSTC": "/usr/bin/rustc", "RUSTC_BOOTSTRAP": "1"}
        environment["CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"] = str(linker)
        arguments.append("-Zbuild-std=core")
    subprocess.run(arguments, cwd=folder, env=environment, check=True)
    return target / TARGET / "release" / f"{manifest['package']['name']}.wasm"


def main(folder: Path) -> None:
    """Build the modules of the examples into a folder, for the tests of the page."""
    for source in sorted((ROOT / "examples" / "algorithms").glob("*.rs")):
        module = built(source, ROOT / "target" / "modules" / "sources" / source.stem)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{source.stem}.wasm").write_bytes(module.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
