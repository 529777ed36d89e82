"""Give statements to the real `tc` in a network namespace of the test's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path


def in_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """A shell script in a network namespace of its own, whose device `eth0` is a replacement of the loopback."""
    return subprocess.run(
        ["unshare", "-Urn", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@cache
def tc_runs() -> str:
    """Why there is no tc to try, if there is none."""
    if shutil.which("tc") is None and not Path("/usr/sbin/tc").exists():
        return "no tc (iproute2) is installed"
    if shutil.which("unshare") is None:
        return "no unshare is installed"
    tried = in_namespace("tc qdisc show dev lo")
    return "" if tried.returncode == 0 else f"namespaces are not allowed here: {tried.stderr.strip()}"


def given_to_tc(lines: list[str] | tuple[str, ...], show: str) -> tuple[list[tuple[int, str]], str]:
    """Exit code and errors of each statement in turn, and what `show` prints at the end."""
    joined = "\n".join(lines)
    script = ["PATH=$PATH:/usr/sbin:/sbin", "ip link set lo up"]
    for statement in statements(joined.replace("dev eth0", "dev lo")):
        script.append(f"said=$( {{ {statement}\n}} 2>&1 ); code=$?; echo $said; echo rc $code")
    script.append(f"echo shown; {show}")
    done = in_namespace("\n".join(script))
    head, _, shown = done.stdout.partition("shown\n")
    outcomes = re.findall(r"(.*)\nrc ([0-9]+)", head)
    return [(int(code), stated.strip()) for stated, code in outcomes], shown


def statements(text: str) -> list[str]:
    """Commands, a loop as one of them."""
    found: list[str] = []
    for line in text.splitlines():
        if found and found[-1].startswith("for ") and not found[-1].endswith("done"):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
