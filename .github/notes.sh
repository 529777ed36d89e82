#!/usr/bin/env bash
# Prints what CHANGELOG.md says of one version, for its release; fails where it says nothing.
set -euo pipefail
version=${1:?usage: notes.sh VERSION}
awk -v version="$version" '
    /^## / { inside = ($2 == version); next }
    inside { print; if (NF) said = 1 }
    END { exit !said }
' "$(dirname "$0")/../CHANGELOG.md" || { echo "CHANGELOG.md says nothing of $version" >&2; exit 1; }
