#!/usr/bin/env bash
# The README's first command: it ends within the 10 seconds it promises and says how accurate it was.
set -euo pipefail
started=$SECONDS
output=$("$BRAZE_BUILD/examples/digits")
grep -qi accuracy <<<"$output" || { echo "no accuracy in:"; echo "$output"; exit 1; }
((SECONDS - started <= 10)) || { echo "the demo took $((SECONDS - started)) s"; exit 1; }
