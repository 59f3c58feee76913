#!/usr/bin/env bash
# The bugs that tests/planted_bugs.sh plants still have a place to be planted in: each patch applies to the tree as it is.
set -euo pipefail
for patch in tests/planted/*.patch; do
  git apply --check "$patch" || { echo "$patch no longer applies: mend it, and see that tests/planted_bugs.sh catches it"; exit 1; }
done
