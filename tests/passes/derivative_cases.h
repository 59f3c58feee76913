// Graphs that between them apply each differentiable op of the table that is not elementwise: dense, broadcast, repeated, of symbolic
// extents and of no elements. Parameters are filled by arguments_of (derivative_check.h).
#pragma once

namespace braze::test {

// Bodies of `graph f(...)`; the interpreter runs these.
inline constexpr const char* derivative_cases[] = {
    // moves
    "%x: f64[2, 3]) { %0 = permute %x {order = [1, 0]} : f64[3, 2] %1 = exp %0 : f64[3, 2] return %1 }",
    "%x: f64[n, m, k]) { %0 = permute %x {order = [2, 0, 1]} : f64[k, n, m] %1 = mul %0, %0 : f64[k, n, m] return %1 }",
    "%x: f64[2, 6]) { %0 = reshape %x {shape = [3, 4]} : f64[3, 4] %1 = exp %0 : f64[3, 4] return %1 }",
    "%x: f64[3, 1]) { %0 = expand %x {shape = [2, 3, 4]} : f64[2, 3, 4] %1 = mul %0, %0 : f64[2, 3, 4] return %1 }",
    "%x: f64[], %y: f64[n, m]) { %0 = expand %x {shape = [n, m]} : f64[n, m] %1 = mul %0, %y : f64[n, m] return %1 }",
    "%x: f64[3, 5]) { %0 = flip %x {dims = [0, 1]} : f64[3, 5] %1 = exp %0 : f64[3, 5] return %1, %x }",
    "%x: f64[3, 7]) { %0 = slice %x {starts = [1, 1], sizes = [2, 3], steps = [1, 2]} : f64[2, 3] %1 = exp %0 : f64[2, 3] return "
    "%1 }",
    "%x: f64[7, 3]) { %0 = slice %x {starts = [6, 2], sizes = [3, 3], steps = [-3, -1]} : f64[3, 3] %1 = exp %0 : f64[3, 3] return "
    "%1 }",
    "%x: f64[9, 4]) { %0 = slice %x {starts = [8, 0], sizes = [1, 2], steps = [1, 2]} : f64[1, 2] %1 = exp %0 : f64[1, 2]"
    " %2 = slice %x {starts = [0, 0], sizes = [9, 4], steps = [1, 1]} : f64[9, 4] %3 = slice %x {starts = [8, 1], sizes = [1, 2], "
    "steps = [1, 1]} : f64[1, 2]"
    " %4 = mul %3, %1 : f64[1, 2] return %1, %2, %4 }",
    "%x: f64[n, m], s: index, k: index) { %0 = slice %x {starts = [s, 0], sizes = [k, m], steps = [1, 1]} : f64[k, m] %1 = exp %0 "
    ": f64[k, m] return %1 }",
    "%x: f64[n, 6], s: index, k: index) { %0 = slice %x {starts = [s, 1], sizes = [k, 2], steps = [2, 3]} : f64[k, 2] %1 = exp %0 "
    ": f64[k, 2] return %1 }",
    "%x: f64[0, 3]) { %0 = slice %x {starts = [0, 0], sizes = [0, 2], steps = [1, 2]} : f64[0, 2] %1 = exp %0 : f64[0, 2] return "
    "%1 }",
    "%x: f64[2, 3], %v: f64[]) { %0 = pad %x, %v {low = [1, 0], high = [0, 2], sizes = [3, 5]} : f64[3, 5] %1 = exp %0 : f64[3, 5] "
    "return %1 }",
    "%x: f64[n], %v: f64[], s: index, j: index) { %0 = pad %x, %v {low = [s], high = [0], sizes = [j]} : f64[j] %1 = exp %0 : "
    "f64[j] return %1 }",
    "%x: f64[2, 3], %y: f64[1, 3], %w: f64[0, 3]) { %0 = concat %x, %y, %w, %x {axis = 0, extent = 5} : f64[5, 3] %1 = exp %0 : "
    "f64[5, 3] return %1 }",
    "%x: f64[k], %y: f64[s], %w: f64[s], n: index) { %0 = concat %x, %y, %w {axis = 0, extent = n} : f64[n] %1 = exp %0 : f64[n] "
    "return %1 }",
    "%x: f64[3]) { %0 = cast %x : f32[3] %1 = cast %0 : f64[3] %2 = mul %x, %x : f64[3] return %2 }",
    // storages
    "%x: f64[2, 3]) { %0 = view %x {offset = 0, sizes = [3, 2], strides = [1, 3]} : f64[3, 2] %1 = exp %0 : f64[3, 2] return %1 }",
    "%x: f64[12]) { %0 = view %x {offset = 11, sizes = [2, 2], strides = [-5, -2]} : f64[2, 2] %1 = exp %0 : f64[2, 2] %2 = mul "
    "%x, %x : f64[12] return %1, %2 }",
    "%x: f64[6]) { %0 = view %x {offset = 1, sizes = [3, 2, 2], strides = [1, 0, 2]} : f64[3, 2, 2] %1 = exp %0 : f64[3, 2, 2] "
    "return %1 }",
    "%x: f64[6]) { %0 = view %x {offset = 0, sizes = [4, 3], strides = [1, 1]} : f64[4, 3] %1 = exp %0 : f64[4, 3] return %1 }",
    "%x: f64[n, m]) { %0 = view %x {offset = 0, sizes = [m, n], strides = [1, m]} : f64[m, n] %1 = exp %0 : f64[m, n] return %1 }",
    "%s: f64[7], %v: f64[2, 2]) { %0 = store %s, %v {offset = 1, sizes = [2, 2], strides = [3, 1]} : f64[7] %1 = exp %0 : f64[7] "
    "return %1 }",
    "%s: f64[7], %v: f64[2, 3]) { %0 = accumulate %s, %v {offset = 1, sizes = [2, 3], strides = [1, 1]} : f64[7] %1 = exp %0 : "
    "f64[7] return %1 }",
    "%x: f64[2, 5], %i: i64[3, 2]) { %0 = take %x, %i : f64[3, 2] %1 = exp %0 : f64[3, 2] return %1 }",
    "%x: f64[n, m], %i: i64[k]) { %0 = take %x, %i : f64[k] %1 = exp %0 : f64[k] %2 = take %0, %i : f64[k] return %1 }",
    "%x: f64[2, 5], %distinct: i64[3], %v: f64[3]) { %0 = put %x, %distinct, %v {combine = assign} : f64[2, 5] %1 = exp %0 : "
    "f64[2, 5] return %1 }",
    "%x: f64[2, 5], %i: i64[6], %v: f64[6]) { %0 = put %x, %i, %v {combine = add} : f64[2, 5] %1 = exp %0 : f64[2, 5] return %1 }",
    "%x: f64[2, 5], %i: i64[6], %v: f64[6]) { %0 = put %x, %i, %v {combine = multiply} : f64[2, 5] return %0 }",
    "%x: f64[2, 5], %i: i64[6], %v: f64[6]) { %0 = put %x, %i, %v {combine = maximum} : f64[2, 5] %1 = exp %0 : f64[2, 5] return "
    "%1 }",
    "%x: f64[2, 5], %i: i64[6], %v: f64[6]) { %0 = put %x, %i, %v {combine = minimum} : f64[2, 5] %1 = exp %0 : f64[2, 5] return "
    "%1 }",
    // reductions
    "%x: f64[2, 3, 4]) { %0 = exp %x : f64[2, 3, 4] %1 = sum %0 {dims = [0, 2]} : f64[3] %2 = mul %1, %1 : f64[3] return %2 }",
    "%x: f64[n, m]) { %0 = sum %x {dims = [0]} : f64[m] %1 = exp %0 : f64[m] return %1 }",
    "%x: f64[0, 3]) { %0 = sum %x {dims = [0]} : f64[3] %1 = exp %0 : f64[3] %2 = prod %x {dims = [0]} : f64[3] return %1, %2 }",
    "%x: f64[2, 3, 4]) { %0 = prod %x {dims = [1]} : f64[2, 4] %1 = mul %0, %0 : f64[2, 4] return %1 }",
    "%x: f64[2, 3, 4]) { %0 = prod %x {dims = [0, 1, 2]} : f64[] return %0 }",
    "%x: f64[n, m]) { %0 = prod %x {dims = [0, 1]} : f64[] return %0 }",
    "%x: f64[3, 4]) { %0 = max %x {dims = [1]} : f64[3] %1 = exp %0 : f64[3] return %1 }",
    "%x: f64[n, m]) { %0 = min %x {dims = [0, 1]} : f64[] %1 = exp %0 : f64[] return %1 }",
    "%x: f64[3, 4]) { %0:2 = max_with_index %x {dims = [0]} : f64[4], i64[4] %1 = exp %0#0 : f64[4] return %1, %0#1 }",
    "%x: f64[n, m]) { %0:2 = min_with_index %x {dims = [1]} : f64[n], i64[n] %1 = exp %0#0 : f64[n] return %1, %0#1 }",
    // scans and sort
    "%x: f64[3, 4]) { %0 = cumsum %x {axis = 1} : f64[3, 4] %1 = exp %0 : f64[3, 4] return %1 }",
    "%x: f64[5, 2]) { %0 = cumprod %x {axis = 0} : f64[5, 2] return %0 }",
    "%x: f64[n, m]) { %0 = cumprod %x {axis = 1} : f64[n, m] return %0 }",
    "%x: f64[0, 4]) { %0 = cumprod %x {axis = 0} : f64[0, 4] %1 = cumprod %0 {axis = 1} : f64[0, 4] return %1 }",
    "%x: f64[2, 5]) { %0 = logcumsumexp %x {axis = 1} : f64[2, 5] return %0 }",
    "%x: f64[n, m]) { %0 = logcumsumexp %x {axis = 0} : f64[n, m] return %0 }",
    "%x: f64[2, 5]) { %0:2 = cummax %x {axis = 1} : f64[2, 5], i64[2, 5] %1 = exp %0#0 : f64[2, 5] return %1 }",
    "%x: f64[n, m]) { %0:2 = cummin %x {axis = 0} : f64[n, m], i64[n, m] %1 = exp %0#0 : f64[n, m] return %1 }",
    "%x: f64[3, 4]) { %0:2 = sort %x {axis = 0, descending = true} : f64[3, 4], i64[3, 4] %1 = exp %0#0 : f64[3, 4] return %1, "
    "%0#1 }",
    "%x: f64[n, m]) { %0:2 = sort %x {axis = 1, descending = false} : f64[n, m], i64[n, m] %1 = exp %0#0 : f64[n, m] return %1 }",
    // dot
    "%x: f64[2, 3], %y: f64[3, 4]) { %0 = dot %x, %y : f64[2, 4] %1 = exp %0 : f64[2, 4] return %1 }",
    "%x: f64[2, n, m], %y: f64[2, m, k]) { %0 = dot %x, %y : f64[2, n, k] return %0 }",
    "%x: f64[n, n]) { %0 = dot %x, %x : f64[n, n] %1 = dot %0, %x : f64[n, n] return %1 }",
    "%x: f64[2, 0], %y: f64[0, 4]) { %0 = dot %x, %y : f64[2, 4] return %0 }",
};

// Linear algebra, which only the runtime computes. Where an operand is named spd, its argument is made symmetric and positive definite, and
// so is its direction, symmetric.
inline constexpr const char* derivative_cases_of_routines[] = {
    "%spd: f64[2, 3, 3]) { %0:2 = cholesky %spd {check = none} : f64[2, 3, 3], i32[2] return %0#0 }",
    "%x: f64[2, 3, 3]) { %0:3 = lu_factor %x {rank = 3, check = none} : f64[2, 3, 3], i32[2, 3], i32[2] return %0#0 }",
    "%x: f64[2, 4]) { %0:3 = lu_factor %x {rank = 2, check = none} : f64[2, 4], i32[2], i32[] return %0#0 }",
    "%x: f64[4, 2]) { %0:3 = lu_factor %x {rank = 2, check = none} : f64[4, 2], i32[2], i32[] return %0#0 }",
    "%x: f64[3, 3], %b: f64[3, 2]) { %0:3 = lu_factor %x {rank = 3, check = none} : f64[3, 3], i32[3], i32[]"
    " %1 = lu_solve %0#0, %0#1, %b {transposed = false} : f64[3, 2] return %1 }",
    "%x: f64[2, 3, 3], %b: f64[2, 3, 2]) { %0:3 = lu_factor %x {rank = 3, check = none} : f64[2, 3, 3], i32[2, 3], i32[2]"
    " %1 = lu_solve %0#0, %0#1, %b {transposed = true} : f64[2, 3, 2] return %1 }",
    "%spd: f64[3, 3], %b: f64[3, 2]) { %0 = solve_triangular %spd, %b {upper = true, left = true, unit = false} : f64[3, 2] return "
    "%0 }",
    "%spd: f64[2, 3, 3], %b: f64[2, 2, 3]) { %0 = solve_triangular %spd, %b {upper = false, left = false, unit = true} : f64[2, 2, "
    "3] return %0 }",
    "%x: f64[2, 4, 3]) { %0:2 = qr %x {rank = 3, full = false} : f64[2, 4, 3], f64[2, 3, 3] return %0#0, %0#1 }",
    "%x: f64[2, 3]) { %0:2 = qr %x {rank = 2, full = true} : f64[2, 2], f64[2, 3] return %0#0, %0#1 }",
    "%x: f64[n, n]) { %0:2 = qr %x {rank = n, full = false} : f64[n, n], f64[n, n] return %0#1 }",
    "%x: f64[2, 4, 3]) { %0:3 = svd %x {rank = 3, full = false} : f64[2, 4, 3], f64[2, 3], f64[2, 3, 3] return %0#0, %0#1, %0#2 }",
    "%x: f64[2, 3]) { %0:3 = svd %x {rank = 2, full = false} : f64[2, 2], f64[2], f64[2, 3] return %0#0, %0#1, %0#2 }",
    "%x: f64[2, 3]) { %0:3 = svd %x {rank = 2, full = false} : f64[2, 2], f64[2], f64[2, 3] return %0#1 }",
    "%spd: f64[2, 3, 3]) { %0:2 = eigh %spd {upper = false} : f64[2, 3], f64[2, 3, 3] return %0#0, %0#1 }",
    "%spd: f64[n, n]) { %0:2 = eigh %spd {upper = true} : f64[n], f64[n, n] return %0#0 }",
    "%x: f64[2, 3, 3]) { %0:4 = eig %x : f64[2, 3], f64[2, 3], f64[2, 3, 3], f64[2, 3, 3] %1 = mul %0#2, %0#2 : f64[2, 3, 3]"
    " %2 = mul %0#3, %0#3 : f64[2, 3, 3] %3 = add %1, %2 : f64[2, 3, 3] return %0#0, %0#1, %3 }",
};

}  // namespace braze::test
