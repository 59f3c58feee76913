#include "tests/fuzz/program_model.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/meaning.h"

namespace braze::test {

std::int64_t Model::count() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

bool Model::is(const Model& other) const {
  return storage == other.storage && offset == other.offset && sizes == other.sizes && strides == other.strides;
}

std::vector<std::int64_t> Model::places() const {
  std::vector<std::int64_t> out;
  Sizes index(sizes.size(), 0);
  for (std::int64_t n = count(); n > 0; --n) {
    std::int64_t at = offset;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    out.push_back(at);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < sizes[i]) break;
      index[i] = 0;
    }
  }
  return out;
}

std::vector<std::uint64_t> Model::read() const {
  std::vector<std::uint64_t> out;
  for (std::int64_t at : places()) out.push_back(storage->bits[static_cast<std::size_t>(at)]);
  return out;
}

void Model::write(const std::vector<std::uint64_t>& values) {
  std::size_t n = 0;
  for (std::int64_t at : places()) storage->bits[static_cast<std::size_t>(at)] = values[n++];
}

bool Model::dense() const {
  auto all = places();
  std::ranges::sort(all);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[i - 1] + 1) return false;
  return true;
}

bool Model::meets(const Model& other) const {
  if (storage != other.storage || count() == 0 || other.count() == 0 || !dense() || !other.dense()) return false;
  return offset < other.offset + other.count() && other.offset < offset + count();
}

bool Model::repeats() const {
  const auto all = places();
  return std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
}

std::optional<Model> broadcast(Model m, const Sizes& sizes) {
  if (m.sizes.size() > sizes.size()) return {};
  const std::size_t lead = sizes.size() - m.sizes.size();
  m.sizes.insert(m.sizes.begin(), lead, 1);
  m.strides.insert(m.strides.begin(), lead, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (m.sizes[i] == sizes[i]) continue;
    if (m.sizes[i] != 1) return {};
    m.sizes[i] = sizes[i], m.strides[i] = 0;
  }
  return m;
}

std::optional<Sizes> broadcast(Sizes a, Sizes b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 1) a[i] = b[i];
    if (b[i] != 1 && b[i] != a[i]) return {};
  }
  return a;
}

std::vector<std::uint64_t> cast(std::vector<std::uint64_t> bits, DType from, DType to) {
  if (from != to)
    for (std::uint64_t& b : bits) b = ir::evaluate_cast(from, to, b);
  return bits;
}

}  // namespace braze::test
