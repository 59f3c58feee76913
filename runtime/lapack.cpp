#include "runtime/lapack.h"

#include <string>
#include <type_traits>

#include "ir/error.h"
#include "runtime/os.h"

namespace braze::runtime {

namespace {

// The C interface, and with it the LAPACK and BLAS that it depends on.
const os::Library& library() {
  static const os::Library instance = [] {
    os::Library loaded("liblapacke.so.3");
    require<CompileError>(loaded.loaded(),
                          "linear algebra needs LAPACK, and liblapacke.so.3 could not be loaded ({}); Debian's packages are "
                          "liblapacke and libopenblas0",
                          loaded.error());
    // Its search for NaNs would refuse them.
    if (auto* set_nancheck = reinterpret_cast<void (*)(int)>(loaded.symbol("LAPACKE_set_nancheck"))) set_nancheck(0);
    // Threads are dealt out by batch. OpenBLAS's own wait for each other by spinning, a hundred times slower where cores are shared, and
    // results would depend on how many there are.
    if (auto* set_threads = reinterpret_cast<void (*)(int)>(loaded.symbol("openblas_set_num_threads"))) set_threads(1);
    return loaded;
  }();
  return instance;
}

template <class F>
void find(F& function, const std::string& name) {
  function = reinterpret_cast<F>(library().symbol(name));
  require<CompileError>(function != nullptr, "the system's LAPACK has no {}", name);
}

template <class T>
Lapack<T> load_all() {
  const std::string letter = std::is_same_v<T, float> ? "s" : "d", c = "LAPACKE_" + letter;
  Lapack<T> l;
  find(l.potrf, c + "potrf");
  find(l.getrf, c + "getrf");
  find(l.getrs, c + "getrs");
  find(l.geqrf, c + "geqrf");
  find(l.orgqr, c + "orgqr");
  find(l.gesdd, c + "gesdd");
  find(l.syevd, c + "syevd");
  find(l.geev, c + "geev");
  find(l.trsm, "cblas_" + letter + "trsm");
  return l;
}

}  // namespace

template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> instance = load_all<T>();
  return instance;
}
template const Lapack<float>& lapack<float>();
template const Lapack<double>& lapack<double>();

}  // namespace braze::runtime
