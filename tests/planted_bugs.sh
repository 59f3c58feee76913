#!/usr/bin/env bash
# tests/planted_bugs.sh [NAME...]: plants the bugs of tests/planted one at a time, one for each rule of aliasing, and shows that the fuzzer
# of aliases catches each. Run by hand: it builds Braze, in a worktree of its own, once and a little more for every bug.
#
# BRAZE_PLANT_IN names a checkout that may be changed and has a build/ already; it is left as it was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
patches=$PWD/tests/planted
programs=${BRAZE_PLANT_PROGRAMS:-1000}

tree=${BRAZE_PLANT_IN:-}
if [[ -z $tree ]]; then
  tree=$(mktemp -d)/braze
  git worktree add --quiet --detach "$tree"
  trap 'git worktree remove --force "$tree"' EXIT
  (cd "$tree" && ./dev build braze_python)
fi
python=$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$tree/build/CMakeCache.txt")
[[ -n $python ]] || python=$(sed -n 's/^_Python_EXECUTABLE:[A-Z]*=//p' "$tree/build/CMakeCache.txt")

run_fuzzer() { PYTHONPATH=$tree/build/python "$python" tests/python/alias_fuzz.py --programs "$programs" --failures 1; }

missed=0
for patch in "$patches"/*.patch; do
  name=$(basename "$patch" .patch)
  (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
  (cd "$tree" && patch --quiet -p1 --no-backup-if-mismatch <"$patch" && ninja -C build --quiet libbraze.so braze_python)
  started=$SECONDS
  if log=$(run_fuzzer 2>&1); then verdict="NOT CAUGHT" missed=$((missed + 1)); else verdict=caught; fi
  (cd "$tree" && patch --quiet -p1 -R --no-backup-if-mismatch <"$patch")
  printf '%-16s %-10s %4d s  %s\n' "$name" "$verdict" $((SECONDS - started)) "$(sed -n 's/^Rule: //p' "$patch")"
  printf '%s\n' "$log" | grep -E '^(fuzzing|FAIL|[0-9]+ programs)' | sed 's/^/    /'
done
(cd "$tree" && ninja -C build --quiet libbraze.so braze_python)
((missed == 0))
