#!/usr/bin/env bash
# Prints what CHANGELOG.md says of one version, for its release; fails where it says nothing. Links to files begin with BASE where it is
# given: a release's page is not where CHANGELOG.md is.
set -euo pipefail
version=${1:?usage: notes.sh VERSION [BASE]}
awk -v version="$version" -v base="${2:+$2/}" '
    function linked(line, done) {
        done = ""
        while (match(line, /\]\(/)) {
            done = done substr(line, 1, RSTART + 1)
            line = substr(line, RSTART + 2)
            if (line !~ /^(https?:|#)/) done = done base
        }
        return done line
    }
    /^## / { inside = ($2 == version); next }
    inside { print linked($0); if (NF) said = 1 }
    END { exit !said }
' "$(dirname "$0")/../CHANGELOG.md" || { echo "CHANGELOG.md says nothing of $version" >&2; exit 1; }
