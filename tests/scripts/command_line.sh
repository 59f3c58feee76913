#!/usr/bin/env bash
# The command line: results, files, exit codes and what errors say.
set -euo pipefail
braze=$PWD/${BRAZE_BUILD:-build}/braze
[[ -x $braze ]] || braze=${BRAZE_BUILD:-build}/braze
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

die() { echo "command_line: $*" >&2; exit 1; }
expect() {  # expect CODE WORDS COMMAND...
  local code=0 wanted=$1 words=$2 out
  shift 2
  out=$("$@" 2>&1) || code=$?
  [[ $code == "$wanted" ]] || die "$* ended with $code, not $wanted: $out"
  [[ $out == *"$words"* ]] || die "$* did not say '$words' but: $out"
}

cat >"$folder/scale.bz" <<'TEXT'
braze.ir 1
graph scale(%x: f32[n, m], %a: f32[] scalar) {
  %0 = expand %a {shape = [n, m]} : f32[n, m]
  %1 = mul %0, %x : f32[n, m]
  %2 = sum %1 {dims = [1]} : f32[n]
  return %2
}
TEXT
expect 0 '' "$braze" eval 'arange(6).reshape([2, 3]) / 2' --out "$folder/x.npy"
expect 0 'tensor([ 3., 12.])' "$braze" run "$folder/scale.bz" --in "x=$folder/x.npy" --in a=2
expect 0 '' "$braze" run "$folder/scale.bz" --in "x=$folder/x.npy" --in a=2 --out "$folder/y.npy"
expect 0 'tensor([ 4., 13.])' "$braze" eval 'y + 1' --in "y=$folder/y.npy"
for stage in graph fused loops steps llvm assembly cuda; do
  expect 0 '' "$braze" dump "$folder/scale.bz" --stage "$stage"
done
expect 0 'mul %x' "$braze" opt --passes=canonicalize,simplify "$folder/scale.bz"
expect 0 'graph scale_grad(' "$braze" grad "$folder/scale.bz"
expect 0 '%x_tangent: f32[n, m]' "$braze" grad "$folder/scale.bz" --jvp --wrt x
expect 0 '%cotangent: f32[n]' "$braze" grad "$folder/scale.bz" --vjp --value
"$braze" grad "$folder/scale.bz" >"$folder/grad.bz"
expect 0 'tensor(7.5000)' "$braze" run "$folder/grad.bz" --in "x=$folder/x.npy" --in a=2
expect 0 'graph scale_grad_grad(' "$braze" grad "$folder/grad.bz" --of 0 --wrt a
expect 1 "scale has no parameter 'y'" "$braze" grad "$folder/scale.bz" --wrt y
expect 1 'scale has no result 1; there are 1, from 0' "$braze" grad "$folder/scale.bz" --of 1
expect 1 'scale_grad has 2 floating point results; say whose gradient it is' "$braze" grad "$folder/grad.bz"
expect 2 'excludes' "$braze" grad "$folder/scale.bz" --jvp --vjp
"$braze" dump "$folder/scale.bz" >"$folder/again.bz"
diff <("$braze" dump "$folder/again.bz") "$folder/again.bz" || die "a dumped graph does not read back as itself"

sed 's/mul %0, %x/mull %0, %x/' "$folder/scale.bz" >"$folder/wrong.bz"
expect 1 'wrong.bz:4:8' "$braze" run "$folder/wrong.bz" --in "x=$folder/x.npy" --in a=2
expect 1 '^' "$braze" dump "$folder/wrong.bz"
expect 1 "no parameter 'z'" "$braze" run "$folder/scale.bz" --in "x=$folder/x.npy" --in a=2 --in z=1
expect 1 'has no argument' "$braze" run "$folder/scale.bz" --in "x=$folder/x.npy"
expect 1 'missing.npy' "$braze" eval x --in "x=$folder/missing.npy"
expect 1 "unknown stage 'nonsense'" "$braze" dump "$folder/scale.bz" --stage nonsense
expect 1 'there are' "$braze" opt --passes=nonsense "$folder/scale.bz"
expect 1 '<expression>:1:5' "$braze" eval '1 + '
expect 1 'nests more than 200 deep' "$braze" eval "$(printf -- '-%.0s' {1..50000})1"
expect 1 'out of memory' "$braze" eval 'ones([1000000, 1000000, 1000000])'
expect 2 '--stage' "$braze" dump "$folder/scale.bz" --stage
expect 0 'run' "$braze" --help
BRAZE_EXPLAIN=everything expect 1 'BRAZE_EXPLAIN knows' "$braze" eval '1 + x' --in x=2
