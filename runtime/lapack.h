// LAPACK, loaded when a routine first needs it: liblapacke's C interface, over whichever LAPACK and BLAS the system has chosen. Importing
// Braze loads no BLAS and starts none of its threads, and Braze runs without one.
#pragma once

#include <cstdint>

namespace braze::runtime {

constexpr int row_major = 101, upper_triangle = 121, lower_triangle = 122, no_transpose = 111, not_unit = 131, unit = 132,
              left_side = 141, right_side = 142;

// Matrices are row-major; each returns LAPACK's info. NaNs are let through, as PyTorch does.
template <class T>
struct Lapack {
  int (*potrf)(int layout, char uplo, int n, T* a, int lda);
  int (*getrf)(int layout, int m, int n, T* a, int lda, int* pivots);
  int (*getrs)(int layout, char transpose, int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb);
  int (*geqrf)(int layout, int m, int n, T* a, int lda, T* tau);
  int (*orgqr)(int layout, int m, int n, int k, T* a, int lda, const T* tau);
  int (*gesdd)(int layout, char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt);
  int (*syevd)(int layout, char job, char uplo, int n, T* a, int lda, T* values);
  int (*geev)(int layout, char left, char right, int n, T* a, int lda, T* real, T* imaginary, T* vl, int ldvl, T* vr, int ldvr);
  void (*trsm)(int layout, int side, int uplo, int transpose, int diagonal, int m, int n, T alpha, const T* a, int lda, T* b,
               int ldb);
};

// Throws CompileError saying what to install where the system has none.
template <class T>
const Lapack<T>& lapack();

}  // namespace braze::runtime
