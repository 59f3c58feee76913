#include "tests/fuzz/program_runner.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace braze::test {

void Runner::view(const Step& s) {
  const Tensor& t = tensor(s.a);
  Model m = model(s.a);
  const std::int64_t d = axis(s, s.a, 1), e = axis(s, s.a, 2);
  const auto i = static_cast<std::size_t>(std::max<std::int64_t>(d, 0)), j = static_cast<std::size_t>(std::max<std::int64_t>(e, 0));
  const auto number = [&](std::size_t n) { return s.numbers[n]; };
  Tensor v;
  switch (s.numbers[0] % 10) {
    case 0:
    case 1: {
      if (d < 0) return;
      const std::int64_t start = number(3) % (m.sizes[i] + 1),
                         stop = number(8) % 3 == 0 ? m.sizes[i] : start + number(4) % (m.sizes[i] - start + 1),
                         step = number(5) % 3 == 0 ? 2 : 1;
      say("v{} = v{}.slice({}, {}, {}, {});", s.out, s.a, d, start, stop, step);
      v = t.slice(d, start, stop, step);
      m.offset += start * m.strides[i];
      m.sizes[i] = (stop - start + step - 1) / step;
      m.strides[i] *= step;
      break;
    }
    case 2: {
      if (d < 0 || m.sizes[i] == 0) return;
      const std::int64_t index = number(3) % m.sizes[i];
      say("v{} = v{}.select({}, {});", s.out, s.a, d, index);
      v = t.select(d, index);
      m.offset += index * m.strides[i];
      m.sizes.erase(m.sizes.begin() + d), m.strides.erase(m.strides.begin() + d);
      break;
    }
    case 3:
      if (d < 0) return;
      say("v{} = v{}.transpose({}, {});", s.out, s.a, d, e);
      v = t.transpose(d, e);
      std::swap(m.sizes[i], m.sizes[j]), std::swap(m.strides[i], m.strides[j]);
      break;
    case 4: {
      if (m.sizes.size() < 2 || d == e) return;
      say("v{} = v{}.diagonal(0, {}, {});", s.out, s.a, d, e);
      v = t.diagonal(0, d, e);
      const std::int64_t length = std::min(m.sizes[i], m.sizes[j]), stride = m.strides[i] + m.strides[j];
      for (std::size_t k : {std::max(i, j), std::min(i, j)})
        m.sizes.erase(m.sizes.begin() + static_cast<std::ptrdiff_t>(k)),
            m.strides.erase(m.strides.begin() + static_cast<std::ptrdiff_t>(k));
      m.sizes.push_back(length), m.strides.push_back(stride);
      break;
    }
    case 5: {
      Sizes to = m.sizes;
      for (std::int64_t& size : to)
        if (size == 1 && number(3) % 2) size = 1 + number(4) % 4;
      if (to.size() < 4 && number(5) % 2) to.insert(to.begin(), 1 + number(6) % 3);
      const auto wide = broadcast(m, to);
      if (wide->count() > most_elements) return;
      say("v{} = v{}.expand({{{}}});", s.out, s.a, fmt::join(to, ", "));
      v = t.expand(to);
      m = *wide;
      break;
    }
    case 6: {
      if (m.sizes.size() > 3) return;
      say("v{} = v{}.unsqueeze(0);", s.out, s.a);
      v = t.unsqueeze(0);
      m.sizes.insert(m.sizes.begin(), 1), m.strides.insert(m.strides.begin(), 1);
      break;
    }
    case 7: {
      if (d < 0 || m.sizes[i] < 2) return;
      const std::int64_t size = 1 + number(3) % std::min<std::int64_t>(m.sizes[i], 4), step = 1 + number(4) % 3;
      say("v{} = v{}.unfold({}, {}, {});", s.out, s.a, d, size, step);
      v = t.unfold(d, size, step);
      m.sizes.push_back(size), m.strides.push_back(m.strides[i]);
      m.sizes[i] = (m.sizes[i] - size) / step + 1;
      m.strides[i] *= step;
      if (m.count() > most_elements) return;
      break;
    }
    case 8: {  // any window of the storage
      const auto room = static_cast<std::int64_t>(m.storage->bits.size());
      Sizes sizes, strides;
      std::int64_t reach = 0;
      for (std::int64_t n = 0; n < 1 + number(3) % 3; ++n) {
        const std::int64_t stride = n == 0 ? 1 + number(4) % 3 : number(5) % 12,
                           size = 1 + number(static_cast<std::size_t>(6 + n)) % 6;
        if (reach + (size - 1) * stride >= room) continue;
        reach += (size - 1) * stride;
        sizes.insert(sizes.begin(), size), strides.insert(strides.begin(), stride);
      }
      if (number(9) % 3 == 0) std::reverse(sizes.begin(), sizes.end()), std::reverse(strides.begin(), strides.end());
      const std::int64_t offset = room - reach <= 0 ? 0 : number(10) % (room - reach);
      if (m.count() == 0 || reach + offset >= room) return;
      say("v{} = v{}.as_strided({{{}}}, {{{}}}, {});", s.out, s.a, fmt::join(sizes, ", "), fmt::join(strides, ", "), offset);
      v = t.as_strided(sizes, strides, offset);
      m.offset = offset, m.sizes = sizes, m.strides = strides;
      break;
    }
    default: {
      Sizes to;
      std::int64_t left = m.count();
      if (left == 0) return;
      for (std::int64_t factor : {1 + number(3) % 4, 1 + number(4) % 6})
        if (left % factor == 0) to.push_back(factor), left /= factor;
      to.insert(number(5) % 2 ? to.begin() : to.end(), left);
      say("v{} = v{}.reshape({{{}}});", s.out, s.a, fmt::join(to, ", "));
      v = t.reshape(to);
      if (!v.shares_storage(t)) return define(s.out, v, m.type(), to, m.read());
      const auto before = m.places();
      m.offset = v.storage_offset(), m.sizes = to, m.strides = v.strides();
      if (m.count() == static_cast<std::int64_t>(before.size()) && m.places() != before)
        return fail("reshape gave a view of other elements");
    }
  }
  if (v.sizes() != m.sizes)
    return fail(fmt::format("v{} has sizes [{}], not [{}]", s.out, fmt::join(v.sizes(), ","), fmt::join(m.sizes, ",")));
  if (!v.shares_storage(t)) return fail(fmt::format("v{} is no view", s.out));
  at(s.out) = Variable{std::move(v), std::move(m)};
}

}  // namespace braze::test
