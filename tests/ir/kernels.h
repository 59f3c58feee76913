// Hand-written kernels in canonical text, one for each thing that loop IR can say.
#pragma once

#include <string_view>

namespace test_kernels {

inline constexpr std::string_view elementwise =
    R"(kernel mul_add(%b0: f32 read, %b1: f32 read, %b2: f32 write streaming; n; %s0: f32) {
  for parallel %i0 in n step 16 {
    %0 = load %b0[%i0 * 1]
    %1 = load %b1[%i0 * 1]
    %2 = mul.f32 %0, %s0
    %3 = add.f32 %2, %1
    store %b2[%i0 * 1], %3
  }
}
)";

// rows x columns; strides and offsets of the input are sizes, and may be negative or zero.
inline constexpr std::string_view strided =
    R"(kernel strided_copy(%b0: i32 read, %b1: i32 write; rows, columns, row_stride, column_stride, offset) {
  for parallel %i0 in rows {
    for serial %i1 in columns step 8 {
      %0 = load %b0[%i0 * row_stride + %i1 * column_stride + offset]
      store %b1[%i0 * columns + %i1 * 1], %0
    }
  }
}
)";

inline constexpr std::string_view inner_sum = R"(kernel sum_rows(%b0: f32 read, %b1: f32 write; n, m) {
  combine c0(%0: f32, %1: f32) {
    %2 = add.f32 %0, %1
    yield %2
  }
  %0 = constant.f32 0x0p+0
  for parallel %i0 in n {
    for serial %i1 in m step 64 carry %1 = %0 {
      %2 = load %b0[%i0 * m + %i1 * 1]
      %3 = add.f32 %1, %2
      yield %3
    } -> %4
    %5 = fold %4 by c0
    store %b1[%i0 * 1], %5
  }
}
)";

inline constexpr std::string_view outer_sum = R"(kernel sum_columns(%b0: f64 read, %b1: f64 write; n, m, blocks) {
  scratch %a0: f64 heap [blocks] lanes 8
  combine c0(%0: f64, %1: f64) {
    %2 = add.f64 %0, %1
    yield %2
  }
  %0 = constant.f64 0x0p+0
  %1 = constant.i64 32
  for parallel %i0 in m step 8 {
    for serial %i1 in blocks {
      %2 = mul.i64 %i1, %1
      %3 = sub.i64 n, %2
      %4 = lt.i64 %3, %1
      %5 = select.i64 %4, %3, %1
      for serial %i2 in %5 carry %6 = %0 {
        %7 = load %b0[%2 * m + %i2 * m + %i0 * 1]
        %8 = add.f64 %6, %7
        yield %8
      } -> %9
      store %a0[%i1 * 1], %9
    }
    %10 = tree_fold %a0 count blocks by c0
    store %b1[%i0 * 1], %10
  }
}
)";

inline constexpr std::string_view argmax = R"(kernel argmax_rows(%b0: f32 read, %b1: i64 write; n, m) {
  combine c0(%0: f32, %1: i64, %2: f32, %3: i64) {
    %4 = lt.f32 %0, %2
    %5 = eq.f32 %0, %2
    %6 = lt.i64 %3, %1
    %7 = bit_and.bool %5, %6
    %8 = bit_or.bool %4, %7
    %9 = select.f32 %8, %2, %0
    %10 = select.i64 %8, %3, %1
    yield %9, %10
  }
  %0 = constant.f32 -inf
  %1 = constant.i64 9223372036854775807
  for parallel %i0 in n {
    for serial %i1 in m step 16 carry %2 = %0, %3 = %1 {
      %4 = load %b0[%i0 * m + %i1 * 1]
      %5 = lt.f32 %2, %4
      %6 = select.f32 %5, %4, %2
      %7 = select.i64 %5, %i1, %3
      yield %6, %7
    } -> %8, %9
    %10, %11 = fold %8, %9 by c0
    store %b1[%i0 * 1], %11
  }
}
)";

// The row's exponentials wait in scratch.
inline constexpr std::string_view softmax = R"(kernel softmax_rows(%b0: f64 read, %b1: f64 write; n, m) {
  scratch %a0: f64 heap [m]
  combine c0(%0: f64, %1: f64) {
    %2 = lt.f64 %0, %1
    %3 = select.f64 %2, %1, %0
    yield %3
  }
  combine c1(%0: f64, %1: f64) {
    %2 = add.f64 %0, %1
    yield %2
  }
  %0 = constant.f64 -inf
  %1 = constant.f64 0x0p+0
  for parallel %i0 in n {
    for serial %i1 in m step 8 carry %2 = %0 {
      %3 = load %b0[%i0 * m + %i1 * 1]
      %4 = lt.f64 %2, %3
      %5 = select.f64 %4, %3, %2
      yield %5
    } -> %6
    %7 = fold %6 by c0
    for serial %i2 in m step 8 carry %8 = %1 {
      %9 = load %b0[%i0 * m + %i2 * 1]
      %10 = sub.f64 %9, %7
      %11 = call.f64 exp2 %10
      store %a0[%i2 * 1], %11
      %12 = add.f64 %8, %11
      yield %12
    } -> %13
    %14 = fold %13 by c1
    for serial %i3 in m step 8 {
      %15 = load %a0[%i3 * 1]
      %16 = div.f64 %15, %14
      store %b1[%i0 * m + %i3 * 1], %16
    }
  }
}
)";

// x[mask] = scalar / x, halves and predicates; a division by zero under the mask is a fault.
inline constexpr std::string_view masked = R"(kernel masked_quotient(%b0: bool read, %b1: i16 write; n; %s0: i16) {
  %0 = constant.i16 0
  for parallel %i0 in n step 4 {
    %1 = load %b0[%i0 * 1]
    %2 = load %b1[%i0 * 1] where %1
    %3 = eq.i16 %2, %0
    %4 = bit_and.bool %3, %1
    %5 = check division_by_zero %4
    %6 = quo.i16 %s0, %2
    store %b1[%i0 * 1], %6 where %1
  }
}
)";

inline constexpr std::string_view halves = R"(kernel add_halves(%b0: f16 read, %b1: bf16 read, %b2: f16 write; n) {
  %0 = lt.i64 n, n
  for parallel %i0 in n step 32 {
    %1 = load %b0[%i0 * -1 + 99]
    %2 = load %b1[0]
    %3 = convert.f16->f32 %1
    %4 = convert.bf16->f32 %2
    %5 = add.f32 %3, %4
    %6 = convert.f32->f16 %5
    store %b2[%i0 * 1], %6
    if %0 {
      %7 = constant.f16 nan
      store %b2[%i0 * 1], %7
    }
  }
}
)";

// Each thread sums a quarter of its block's 256 elements; warps join by shuffles, then through shared memory.
inline constexpr std::string_view block_sum = R"(kernel block_sum(%b0: i32 read, %b1: i32 write; blocks) {
  scratch %a0: i32 shared [2]
  scratch %a1: i32 registers [4] lanes 64
  %0 = constant.i64 0
  %1 = constant.i32 0
  %2 = constant.i64 32
  for block %i0 in blocks {
    for thread %i1 in 2 {
      for thread %i2 in 32 {
        %3 = eq.i64 %i2, %0
        for unrolled %i3 in 4 {
          %4 = load %b0[%i0 * 256 + %i3 * 64 + %i1 * 32 + %i2 * 1]
          store %a1[%i3 * 1], %4
        }
        for unrolled %i4 in 4 carry %5 = %1 {
          %6 = load %a1[%i4 * 1]
          %7 = add.i32 %5, %6
          yield %7
        } -> %8
        %9 = shuffle %8, 16
        %10 = add.i32 %8, %9
        %11 = shuffle %10, 8
        %12 = add.i32 %10, %11
        %13 = shuffle %12, 4
        %14 = add.i32 %12, %13
        %15 = shuffle %14, 2
        %16 = add.i32 %14, %15
        %17 = shuffle %16, 1
        %18 = add.i32 %16, %17
        store %a0[%i1 * 1], %18 where %3
        barrier
        %19 = load %a0[0]
        %20 = load %a0[1]
        %21 = add.i32 %19, %20
        %22 = eq.i64 %i1, %0
        %23 = bit_and.bool %22, %3
        store %b1[%i0 * 1], %21 where %23
      }
    }
  }
}
)";

// Three loops over each row: what is left of it when its sum and then the sum of the rest's squares are taken off.
inline constexpr std::string_view rows =
    R"(kernel rows(%b0: f32 read, %b1: f32 write streaming, %b2: f32 read; n, m) {
  combine c0(%0: f32, %1: f32) {
    %2 = add.f32 %0, %1
    yield %2
  }
  %0 = constant.f32 0x0p+0
  for parallel %i0 in n {
    for serial %i1 in m step 16 carry %1 = %0 {
      %2 = load %b0[%i0 * m + %i1 * 1]
      %3 = add.f32 %1, %2
      yield %3
    } -> %4
    %5 = fold %4 by c0
    for serial %i2 in m step 16 carry %6 = %0 {
      %7 = load %b0[%i0 * m + %i2 * 1]
      %8 = sub.f32 %7, %5
      %9 = mul.f32 %8, %8
      %10 = add.f32 %6, %9
      yield %10
    } -> %11
    %12 = fold %11 by c0
    for serial %i3 in m step 16 {
      %13 = load %b0[%i0 * m + %i3 * 1]
      %14 = load %b2[%i3 * 1]
      %15 = sub.f32 %13, %12
      %16 = mul.f32 %15, %14
      store %b1[%i0 * m + %i3 * 1], %16
    }
  }
}
)";

inline constexpr std::string_view all[] = {elementwise, strided, rows,   inner_sum, outer_sum,
                                           argmax,      softmax, masked, halves,    block_sum};

}  // namespace test_kernels
