#!/usr/bin/env bash
# gdb shows a tensor without evaluating it. Passes, saying so, where there is no gdb.
set -euo pipefail
build=${BRAZE_BUILD:-build}
command -v gdb >/dev/null || { echo "skipped: no gdb on this machine"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/program.cpp" <<'TEXT'
#include "braze/braze.h"
int main() {
  const braze::Tensor x = braze::ones({2, 3}), y = (x + 1).t();
  return y.is_evaluated();
}
TEXT
"${CXX:-g++}" -std=c++20 -g -O0 -I. -Ifrontend/include "$folder/program.cpp" "-L$build" -lbraze "-Wl,-rpath,$(realpath "$build")" -o "$folder/program"
out=$(gdb -batch -nx -ex 'source frontend/gdb.py' -ex 'break 4' -ex run -ex 'print y' -ex continue "$folder/program" 2>&1 </dev/null)
[[ $out == *'float32[3, 2] strides [1, 3], pending add at'* ]] || { echo "gdb printed: $out" >&2; exit 1; }
[[ $out == *'exited normally'* ]] || { echo "printing evaluated the tensor: $out" >&2; exit 1; }
