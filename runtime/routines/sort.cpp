// Sorting: stable, NaN greatest. An element becomes an unsigned key whose order is the wanted one, -0 and +0 being one key and all NaNs
// another; long lines are sorted by radix, 11 bits a pass, passes that would move nothing left out; short ones by comparison. One
// long line is cut into pieces that threads sort and then merge, pairwise; which it is does not show, as a stable sort has one result.
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "runtime/routines.h"
#include "runtime/routines/elements.h"
#include "runtime/threads.h"

namespace braze::runtime::routines {

namespace {

template <std::size_t bytes>
struct KeyOf;
template <>
struct KeyOf<1> {
  using type = std::uint8_t;
};
template <>
struct KeyOf<2> {
  using type = std::uint16_t;
};
template <>
struct KeyOf<4> {
  using type = std::uint32_t;
};
template <>
struct KeyOf<8> {
  using type = std::uint64_t;
};
template <class T>
using Key = typename KeyOf<sizeof(T)>::type;

// Ascending as unsigned where T ascends.
template <class T>
Key<T> key_of(T x) {
  using K = Key<T>;
  constexpr K sign = K(K(1) << (8 * sizeof(T) - 1));
  if constexpr (std::same_as<T, bool>) {
    return x;
  } else if constexpr (is_real<T>) {
    const K bits = std::bit_cast<K>(x);
    if (is_nan(x)) return static_cast<K>(~K(0));
    if (K(bits << 1) == 0) return sign;  // both zeros
    return bits & sign ? static_cast<K>(~bits) : static_cast<K>(bits | sign);
  } else {
    return std::is_signed_v<T> ? static_cast<K>(static_cast<K>(x) ^ sign) : static_cast<K>(x);
  }
}

template <class K>
struct Item {
  K key;
  std::uint32_t index;
};
template <class K>
struct LongItem {  // lines of 2^32 elements and more
  K key;
  std::int64_t index;
};

constexpr std::int64_t radix_from = 512;  // shorter lines: std::stable_sort
constexpr int digit_bits = 11;

// Items by their keys; `other` has room for as many. The result is in `items`.
template <class I>
void radix_sort(I* items, I* other, std::int64_t count, bool may_stop) {
  constexpr int bits = 8 * static_cast<int>(sizeof(items->key)), passes = (bits + digit_bits - 1) / digit_bits;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  std::vector<std::int64_t> starts(passes * digits);
  in_blocks(count, may_stop, [=, starts = starts.data()](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (int pass = 0; pass < passes; ++pass)
        ++starts[static_cast<std::size_t>(pass) * digits + ((items[i].key >> (pass * digit_bits)) & (digits - 1))];
  });
  I *from = items, *to = other;
  for (int pass = 0; pass < passes; ++pass) {
    std::int64_t* start = &starts[static_cast<std::size_t>(pass) * digits];
    const int shift = pass * digit_bits;
    if (start[(from[0].key >> shift) & (digits - 1)] == count) continue;  // one digit for all
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      const std::int64_t here = start[d];
      start[d] = sum;
      sum += here;
    }
    in_blocks(count, may_stop, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[start[(from[i].key >> shift) & (digits - 1)]++] = from[i];
    });
    std::swap(from, to);
  }
  if (from != items)
    in_blocks(count, may_stop, [=](std::int64_t begin, std::int64_t end) { std::copy(from + begin, from + end, items + begin); });
}

template <class I>
void sort_items(I* items, I* other, std::int64_t count, bool may_stop) {
  if (count >= radix_from) return radix_sort(items, other, count, may_stop);
  std::stable_sort(items, items + count, [](const I& a, const I& b) { return a.key < b.key; });
}

// [a, b) and [b, c) of `items`, each in order, into [a, c) of `other`; of equals those of the first.
template <class I>
void merge(const I* items, std::int64_t a, std::int64_t b, std::int64_t c, I* other, bool may_stop) {
  std::int64_t left = a, right = b;
  in_blocks(c - a, may_stop, [&](std::int64_t begin, std::int64_t end) {
    for (I *to = other + a + begin, *last = other + a + end; to != last;) {
      if (left == b || right == c) {
        std::int64_t& rest = left == b ? right : left;
        std::copy_n(items + rest, last - to, to);
        rest += last - to;
        return;
      }
      // So many steps end neither.
      for (std::int64_t n = std::min({last - to, b - left, c - right}); n != 0; --n) {
        const bool from_right = items[right].key < items[left].key;
        *to++ = items[from_right ? right : left];
        right += from_right;
        left += !from_right;
      }
    }
  });
}

// Memory for a line's items, twice. A pass scatters over all of `other`: its pages are asked for beforehand, since a block of scattered
// items could otherwise wait for the kernel to clear hundreds of megabytes.
template <class I>
struct Room {
  std::unique_ptr<I[]> items, other;

  Room(std::int64_t count, bool may_stop)
      : items(std::make_unique_for_overwrite<I[]>(static_cast<std::size_t>(count))),
        other(std::make_unique_for_overwrite<I[]>(static_cast<std::size_t>(count))) {
    constexpr std::int64_t page = 4096 / sizeof(I);
    const auto touch = [room = other.get()](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; i += page) room[i] = {};
    };
    if (count >= page) in_blocks(count, may_stop, touch);
  }
};

// One long line on all threads: pieces, then merges of neighbours.
template <class I>
void sort_shared(Room<I>& room, std::int64_t count, bool may_stop) {
  auto& [items, other] = room;
  std::int64_t pieces = 1;
  while (pieces < executor().threads()) pieces *= 2;
  const auto start = [=](std::int64_t piece) { return count * piece / pieces; };
  executor().run(pieces, [&](std::int64_t p) {
    sort_items(items.get() + start(p), other.get() + start(p), start(p + 1) - start(p), may_stop);
  });
  for (std::int64_t width = 1; width < pieces; width *= 2) {
    executor().run(pieces / (2 * width), [&](std::int64_t pair) {
      const std::int64_t a = start(2 * width * pair), b = start(2 * width * pair + width), c = start(2 * width * (pair + 1));
      merge(items.get(), a, b, c, other.get(), may_stop);
    });
    items.swap(other);
  }
}

template <class T, class I>
struct Line {
  const T* x;
  T* values;
  std::int64_t* indices;
  std::int64_t length, stride;
  bool descending, may_stop;

  void read(I* items) const {
    using Index = decltype(I::index);
    in_blocks(length, may_stop, [=, *this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Key<T> key = key_of(x[i * stride]);
        items[i] = {descending ? static_cast<Key<T>>(~key) : key, static_cast<Index>(i)};
      }
    });
  }
  void write(const I* items) const {
    const auto block = [=, *this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (values) values[i * stride] = x[static_cast<std::int64_t>(items[i].index) * stride];
        if (indices) indices[i * stride] = static_cast<std::int64_t>(items[i].index);
      }
    };
    constexpr std::int64_t page = 4096 / sizeof(std::int64_t);
    in_blocks(length, may_stop, block, stride >= page ? block_of_new_pages : usual_block);
  }
};

template <class T, class I>
Outcome sort_lines(const RoutineCall& call) {
  const auto& sort = call.of<ir::Sort>();
  const RoutineArray& x = call.in[0];
  const std::int64_t length = x.sizes[sort.axis], behind = x.behind(sort.axis), lines = x.before(sort.axis) * behind;
  const auto line = [&, length, behind](std::int64_t number) {
    const std::int64_t at = number / behind * length * behind + number % behind;
    return Line<T, I>{x.as<T>() + at,
                      call.out[0].data ? call.out[0].as<T>() + at : nullptr,
                      call.out[1].data ? call.out[1].as<std::int64_t>() + at : nullptr,
                      length,
                      behind,
                      sort.descending,
                      call.may_stop};
  };
  constexpr std::int64_t shared_from = 1 << 16;
  if (lines < executor().threads() && length >= shared_from) {
    Room<I> room(length, call.may_stop);
    for (std::int64_t number = 0; number < lines; ++number) {
      line(number).read(room.items.get());
      sort_shared(room, length, call.may_stop);
      line(number).write(room.items.get());
    }
    return {};
  }
  return {in_parallel(lines, length, call.may_stop, [&](std::int64_t begin, std::int64_t end) {
    const Room<I> room(length, call.may_stop);
    for (std::int64_t number = begin; number < end; ++number) {
      line(number).read(room.items.get());
      sort_items(room.items.get(), room.other.get(), length, call.may_stop);
      line(number).write(room.items.get());
    }
  })};
}

}  // namespace

Outcome sort(const RoutineCall& call) {
  if (call.in[0].elements() == 0) return {};
  const bool many = call.in[0].sizes[call.of<ir::Sort>().axis] >> 32 != 0;
  return ir::with_type(call.in[0].type, [&]<class T>(std::type_identity<T>) {
    return many ? sort_lines<T, LongItem<Key<T>>>(call) : sort_lines<T, Item<Key<T>>>(call);
  });
}

}  // namespace braze::runtime::routines
