// Linear algebra over LAPACK, a matrix at a time; batches are dealt out to threads. Signs, order and normalisation are LAPACK's, which are
// PyTorch's. A failure that the call checks is refused in PyTorch's words, for the first matrix of the batch that failed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "ir/error.h"
#include "runtime/lapack.h"
#include "runtime/routines.h"

namespace braze::runtime::routines {

namespace {

// What one operand or result is: `count` matrices of `rows` by `columns`; vectors are rows of one matrix each.
struct Matrices {
  void* data;
  std::int64_t count = 1, rows = 1, columns = 1;

  explicit Matrices(const RoutineArray& a, std::size_t dims = 2) : data(a.data) {
    const std::size_t rank = a.sizes.size();
    for (std::size_t i = 0; i + dims < rank; ++i) count *= a.sizes[i];
    if (dims == 2) rows = a.sizes[rank - 2];
    if (dims > 0) columns = a.sizes[rank - 1];
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    require<ShapeError>(rows <= most && columns <= most, "matrices of {} by {} are larger than LAPACK can count", rows, columns);
  }
  int m() const { return static_cast<int>(rows); }
  int n() const { return static_cast<int>(columns); }
  int stride() const { return std::max(1, n()); }  // from a row to the next
  std::int64_t elements() const { return rows * columns; }
  bool wanted() const { return data != nullptr; }
  template <class T>
  T* at(std::int64_t i) const {
    return static_cast<T*>(data) + i * elements();
  }
};

// Where a result goes: its own place, or scratch where nobody wants it.
template <class T>
class Place {
 public:
  Place(const Matrices& result, std::int64_t i) {
    if (!result.wanted())
      scratch_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(std::max<std::int64_t>(result.elements(), 1)));
    data_ = result.wanted() ? result.at<T>(i) : scratch_.get();
  }
  operator T*() const { return data_; }  // NOLINT

 private:
  std::unique_ptr<T[]> scratch_;
  T* data_;
};

template <class T>
std::unique_ptr<T[]> scratch(std::int64_t elements) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(std::max<std::int64_t>(elements, 1)));
}

template <class T>
std::unique_ptr<T[]> copy_of(const T* a, std::int64_t elements) {
  auto copy = scratch<T>(elements);
  std::copy_n(a, elements, copy.get());
  return copy;
}

template <class T>
void identity(T* a, std::int64_t n) {
  std::fill_n(a, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] = T(1);
}

// LAPACKE's own failures are no property of the matrix.
int checked(int info) {
  require<DeviceError>(info != -1010 && info != -1011, "out of memory in LAPACK");
  return info;
}

// Calls one(i) for each matrix; it returns LAPACK's info, kept in `info`.
template <class F>
ir::Fault each(const RoutineCall& call, const Matrices& a, std::vector<std::int32_t>& info, F&& one) {
  info.assign(static_cast<std::size_t>(a.count), 0);
  const std::int64_t least = std::min(a.rows, a.columns);
  return in_parallel(a.count, a.elements() * std::max<std::int64_t>(least, 1), call.may_stop,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) info[static_cast<std::size_t>(i)] = checked(one(i));
                     });
}

void give_info(const RoutineArray& result, const std::vector<std::int32_t>& info) {
  if (result.data) std::copy(info.begin(), info.end(), result.as<std::int32_t>());
}

// The first failure, told by `words(info)`; matrices of a batch are named.
template <class F>
Outcome refusal(ir::Fault fault, const RoutineArray& a, const std::vector<std::int32_t>& info, std::string_view function,
                F&& words) {
  if (fault != ir::Fault::none) return {fault};
  const auto failed = std::find_if(info.begin(), info.end(), [](std::int32_t i) { return i != 0; });
  if (failed == info.end()) return {};
  const std::string element = a.sizes.size() > 2 ? fmt::format("(Batch element {}): ", failed - info.begin()) : "";
  return {ir::Fault::not_decomposed, fmt::format("{}: {}{}", function, element, words(*failed))};
}

Outcome lu_refusal(ir::Fault fault, const RoutineArray& a, const std::vector<std::int32_t>& info, ir::Checked check) {
  switch (check) {
    case ir::Checked::inv:
      return refusal(fault, a, info, "linalg.inv", [](int i) {
        return fmt::format(
            "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.", i);
      });
    case ir::Checked::solve:
      return refusal(fault, a, info, "torch.linalg.solve",
                     [](int) { return std::string("The solver failed because the input matrix is singular."); });
    case ir::Checked::lu_factor:
      return refusal(fault, a, info, "torch.linalg.lu_factor", [](int i) {
        return fmt::format(
            "U[{},{}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
            "factorization, "
            "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
            i, i);
      });
    default:
      return {fault};
  }
}

Outcome unconverged(ir::Fault fault, const RoutineArray& a, const std::vector<std::int32_t>& info, std::string_view function,
                    std::string_view what) {
  return refusal(fault, a, info, function, [&](int i) {
    if (i < 0) return std::string("The algorithm failed to converge because the input matrix contained non-finite values.");
    return fmt::format(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated {} "
        "(error code: {}).",
        what, i);
  });
}

// f.operator()<float>() or <double>(), as the first operand's dtype says.
template <class F>
Outcome in_type(const RoutineCall& call, F&& f) {
  return call.in[0].type == DType::f32 ? f.template operator()<float>() : f.template operator()<double>();
}

}  // namespace

// ---- Cholesky ----

// Of a row-major matrix's lower triangle, which LAPACK's columns see as the upper one.
Outcome cholesky(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    constexpr int column_major = 102;
    const Matrices a(call.in[0]), l(call.out[0]);
    const int n = a.n();
    std::vector<std::int32_t> info;
    const ir::Fault fault = each(call, a, info, [&](std::int64_t i) {
      const Place<T> out(l, i);
      const T* from = a.at<T>(i);
      for (std::int64_t row = 0; row < n; ++row) {
        std::copy_n(from + row * n, row + 1, out + row * n);
        std::fill_n(out + row * n + row + 1, n - row - 1, T(0));
      }
      return n == 0 ? 0 : lapack<T>().potrf(column_major, 'U', n, out, n);
    });
    give_info(call.out[1], info);
    if (call.of<ir::Cholesky>().check == ir::Checked::none) return Outcome{fault};
    return refusal(fault, call.in[0], info, "linalg.cholesky", [](int i) {
      return fmt::format(
          "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} "
          "is not positive-definite).",
          i);
    });
  });
}

// ---- LU ----

Outcome lu_factor(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), lu(call.out[0]), pivots(call.out[1], 1);
    std::vector<std::int32_t> info;
    const ir::Fault fault = each(call, a, info, [&](std::int64_t i) {
      const Place<T> out(lu, i);
      const Place<int> swaps(pivots, i);
      std::copy_n(a.at<T>(i), a.elements(), static_cast<T*>(out));
      return a.elements() == 0 ? 0 : lapack<T>().getrf(row_major, a.m(), a.n(), out, a.stride(), swaps);
    });
    give_info(call.out[2], info);
    return lu_refusal(fault, call.in[0], info, call.of<ir::LuFactor>().check);
  });
}

Outcome lu_solve(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices lu(call.in[0]), pivots(call.in[1], 1), b(call.in[2]), x(call.out[0]);
    if (!x.wanted()) return Outcome{};
    const char transpose = call.of<ir::LuSolve>().transposed ? 'T' : 'N';
    std::vector<std::int32_t> info;
    return Outcome{each(call, b, info, [&](std::int64_t i) {
      T* out = x.at<T>(i);
      std::copy_n(b.at<T>(i), b.elements(), out);
      if (b.elements() == 0) return 0;
      return lapack<T>().getrs(row_major, transpose, lu.n(), b.n(), lu.at<T>(i), lu.stride(), pivots.at<int>(i), out, b.stride());
    })};
  });
}

Outcome solve_triangular(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), b(call.in[1]), x(call.out[0]);
    if (!x.wanted()) return Outcome{};
    const auto& how = call.of<ir::SolveTriangular>();
    std::vector<std::int32_t> info;
    return Outcome{each(call, b, info, [&](std::int64_t i) {
      T* out = x.at<T>(i);
      std::copy_n(b.at<T>(i), b.elements(), out);
      if (b.elements() != 0)
        lapack<T>().trsm(row_major, how.left ? left_side : right_side, how.upper ? upper_triangle : lower_triangle, no_transpose,
                         how.unit ? unit : not_unit, b.m(), b.n(), T(1), a.at<T>(i), a.stride(), out, b.stride());
      return 0;
    })};
  });
}

// ---- QR ----

Outcome qr(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), q(call.out[0]), r(call.out[1]);
    const int k = std::min(a.m(), a.n());
    std::vector<std::int32_t> info;
    return Outcome{each(call, a, info, [&](std::int64_t i) {
      const auto work = copy_of(a.at<T>(i), a.elements());
      const auto tau = scratch<T>(k);
      if (k > 0)
        if (const int failed = lapack<T>().geqrf(row_major, a.m(), a.n(), work.get(), a.stride(), tau.get())) return failed;
      if (r.wanted()) {
        T* out = r.at<T>(i);
        for (std::int64_t row = 0; row < r.rows; ++row)
          for (std::int64_t column = 0; column < r.columns; ++column)
            out[row * r.columns + column] =
                column >= row && row < k ? work[static_cast<std::size_t>(row * a.columns + column)] : T(0);
      }
      if (!q.wanted() || q.elements() == 0) return 0;
      T* out = q.at<T>(i);
      if (k == 0) return identity(out, q.rows), 0;
      for (std::int64_t row = 0; row < q.rows; ++row) {  // the reflectors stand below the diagonal
        const std::int64_t have = std::min(q.columns, a.columns);
        std::copy_n(work.get() + row * a.columns, have, out + row * q.columns);
        std::fill_n(out + row * q.columns + have, q.columns - have, T(0));
      }
      return lapack<T>().orgqr(row_major, q.m(), q.n(), k, out, q.stride(), tau.get());
    })};
  });
}

// ---- singular values and eigenvalues ----

// The vectors are computed even where nobody wants them: LAPACK finds values alone by another algorithm, and their bits must not
// depend on what else is read.

Outcome svd(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), u(call.out[0]), s(call.out[1], 1), vt(call.out[2]);
    const bool full = call.of<ir::Factor>().full;
    std::vector<std::int32_t> info;
    const ir::Fault fault = each(call, a, info, [&](std::int64_t i) {
      if (a.elements() == 0) {
        if (full && u.wanted()) identity(u.at<T>(i), u.rows);
        if (full && vt.wanted()) identity(vt.at<T>(i), vt.rows);
        return 0;
      }
      const auto work = copy_of(a.at<T>(i), a.elements());
      const Place<T> values(s, i), left(u, i), right(vt, i);
      return lapack<T>().gesdd(row_major, full ? 'A' : 'S', a.m(), a.n(), work.get(), a.stride(), values, left, u.stride(), right,
                               vt.stride());
    });
    return unconverged(fault, call.in[0], info, "linalg.svd", "singular values");
  });
}

Outcome eigh(const RoutineCall& call) {
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), values(call.out[0], 1), vectors(call.out[1]);
    const char triangle = call.of<ir::Eigh>().upper ? 'U' : 'L';
    std::vector<std::int32_t> info;
    const ir::Fault fault = each(call, a, info, [&](std::int64_t i) {
      const Place<T> out(vectors, i), w(values, i);
      std::copy_n(a.at<T>(i), a.elements(), static_cast<T*>(out));
      if (a.elements() == 0) return 0;
      return lapack<T>().syevd(row_major, 'V', triangle, a.n(), out, a.stride(), w);
    });
    return unconverged(fault, call.in[0], info, "linalg.eigh", "eigenvalues");
  });
}

// LAPACK's own steps complain about non-finite matrices on the standard error, so it never sees one.
// It gives a conjugate pair's vectors as two real columns, the real and the imaginary part.
Outcome eig(const RoutineCall& call) {
  constexpr int not_finite = -1;
  return in_type(call, [&]<class T> {
    const Matrices a(call.in[0]), real(call.out[0], 1), imaginary(call.out[1], 1), vectors(call.out[2]), other(call.out[3]);
    const std::int64_t n = a.columns;
    std::vector<std::int32_t> info;
    const ir::Fault fault = each(call, a, info, [&](std::int64_t i) {
      if (n == 0) return 0;
      if (!std::all_of(a.at<T>(i), a.at<T>(i) + a.elements(), [](T x) { return std::isfinite(x); })) return not_finite;
      const Place<T> wr(real, i), wi(imaginary, i), re(vectors, i), im(other, i);
      const auto work = copy_of(a.at<T>(i), a.elements()), columns = scratch<T>(a.elements());
      const int failed = lapack<T>().geev(row_major, 'N', 'V', a.n(), work.get(), a.stride(), wr, wi, nullptr, a.stride(),
                                          columns.get(), a.stride());
      if (failed) return failed;
      for (std::int64_t j = 0; j < n; ++j) {
        const bool paired = wi[j] != 0 && j + 1 < n;
        for (std::int64_t row = 0; row < n; ++row) {
          const T* at = columns.get() + row * n + j;
          re[row * n + j] = at[0];
          im[row * n + j] = paired ? at[1] : T(0);
          if (!paired) continue;
          re[row * n + j + 1] = at[0];
          im[row * n + j + 1] = -at[1];
        }
        j += paired;
      }
      return 0;
    });
    if (fault == ir::Fault::none && std::find(info.begin(), info.end(), not_finite) != info.end())
      return Outcome{ir::Fault::refused, "torch.linalg.eig: input tensor should not contain infs or NaNs."};
    return unconverged(fault, call.in[0], info, "linalg.eig", "eigenvalues");
  });
}

}  // namespace braze::runtime::routines
