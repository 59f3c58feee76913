// Random graphs of ops that move elements: chains over small shapes, with layouts that recur, so that stores and views meet.
#pragma once

#include <numeric>
#include <random>
#include <vector>

#include "ir/graph.h"

namespace braze::test {

class RandomGraph {
 public:
  explicit RandomGraph(std::mt19937& random) : random_(random) {}

  ir::Graph make(int length) {
    for (int i = 0; i < 2; ++i) pool_.push_back(graph_.parameter({DType::i32, random_shape()}));
    for (int i = 0; i < length; ++i) pool_.push_back(step(recent()));
    graph_.results = {pool_.back(), recent()};
    return std::move(graph_);
  }

 private:
  using Numbers = std::vector<std::int64_t>;

  std::int64_t below(std::int64_t n) { return n <= 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  ir::Value recent() {
    return pool_[pool_.size() - 1 - static_cast<std::size_t>(chance(70) ? 0 : below(static_cast<std::int64_t>(pool_.size())))];
  }
  const ir::Shape& shape(ir::Value v) const { return graph_.type(v).shape; }
  std::int64_t elements(ir::Value v) const {
    return std::accumulate(shape(v).begin(), shape(v).end(), std::int64_t{1},
                           [](std::int64_t a, ir::Extent e) { return a * e.number(); });
  }
  ir::Value add(ir::Op op, std::vector<ir::Value> in, ir::Attributes a = ir::None{}) {
    return {graph_.add(op, in, std::move(a)), 0};
  }

  ir::Shape random_shape() {
    constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 1};
    ir::Shape s;
    for (std::int64_t i = below(4); i >= 0; --i) s.push_back(chance(2) ? 0 : sizes[below(6)]);
    return s;
  }

  ir::Value splat(ir::Shape to) {
    const ir::Value c = add(ir::Op::constant, {}, ir::Literal{DType::i32, static_cast<std::uint64_t>(below(3))});
    return add(ir::Op::expand, {c}, ir::ToShape{to});
  }

  // A layout of at most as many elements as `room`, structured half of the time: dims cut from the count, permuted, some reversed.
  ir::Layout random_layout(std::int64_t room, bool injective) {
    if (!layouts_.empty() && chance(40)) {
      const ir::Layout& old = layouts_[static_cast<std::size_t>(below(static_cast<std::int64_t>(layouts_.size())))];
      if (reach(old) < room && (!injective || injective_.at(static_cast<std::size_t>(&old - layouts_.data())))) return old;
    }
    ir::Layout l{0, {}, {}};
    std::int64_t left = room, stride = 1;
    const bool whole = chance(25);
    for (std::int64_t axis = below(4); axis >= 0; --axis) {
      std::int64_t extent = 1 + below(6);
      while (left % extent != 0 && chance(80)) --extent;
      if (extent < 1 || extent > left) break;
      if (axis == 0 && whole) extent = left;
      const std::int64_t size = whole || chance(60) ? extent : 1 + below(extent), step = !whole && chance(20) ? 2 : 1;
      const std::int64_t taken = (size - 1) * step < extent ? step : 1;
      l.sizes.push_back(size);
      l.strides.push_back(stride * taken);
      stride *= extent;
      left /= extent;
    }
    std::vector<std::size_t> order(l.sizes.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    if (!whole && chance(50)) std::shuffle(order.begin(), order.end(), random_);
    ir::Layout shuffled{0, {}, {}};
    for (std::size_t i : order) {
      shuffled.sizes.push_back(l.sizes[i]);
      shuffled.strides.push_back(l.strides[i]);
    }
    const std::int64_t spare = room - 1 - reach(shuffled);
    if (spare > 0) shuffled.offset = below(spare + 1);
    for (std::size_t i = 0; i < shuffled.sizes.size(); ++i)
      if (!whole && chance(20)) {
        shuffled.offset = shuffled.offset.number() + shuffled.strides[i].number() * (shuffled.sizes[i].number() - 1);
        shuffled.strides[i] = -shuffled.strides[i].number();
      }
    if (!injective && chance(20)) {
      const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(shuffled.sizes.size()) + 1));
      shuffled.sizes.insert(at, 3);
      shuffled.strides.insert(at, chance(70) ? 0 : 1);
      if (reach(shuffled) >= room) shuffled.strides[at] = 0;
    } else {
      layouts_.push_back(shuffled);
      injective_.push_back(true);
    }
    return shuffled;
  }

  // The greatest address.
  static std::int64_t reach(const ir::Layout& l) {
    std::int64_t last = l.offset.number();
    for (std::size_t i = 0; i < l.sizes.size(); ++i)
      if (l.strides[i].number() > 0) last += (l.sizes[i].number() - 1) * l.strides[i].number();
    return last;
  }

  ir::Value step(ir::Value x) {
    const std::size_t rank = shape(x).size();
    switch (below(13)) {
      case 0: {
        ir::Permutation p;
        for (std::size_t i = 0; i < rank; ++i) p.order.push_back(static_cast<std::uint8_t>(i));
        std::shuffle(p.order.begin(), p.order.end(), random_);
        return add(ir::Op::permute, {x}, p);
      }
      case 1: {
        ir::Shape s;
        std::int64_t left = elements(x);
        if (left == 0) return add(ir::Op::reshape, {x}, ir::ToShape{{0, below(5)}});
        for (std::int64_t d : {below(2) + 1, below(4) + 1, below(6) + 1})
          if (left % d == 0 && chance(70)) s.push_back(d), left /= d;
        s.insert(static_cast<std::size_t>(below(static_cast<std::int64_t>(s.size()) + 1)), left);
        if (chance(20)) s = shape(x);
        return add(ir::Op::reshape, {x}, ir::ToShape{s});
      }
      case 2: {
        ir::Shape s = shape(x);
        for (ir::Extent& e : s)
          if (e == ir::Extent(1) && chance(50)) e = 1 + below(3);
        if (elements(x) < 40 && chance(40)) s.insert(0, 1 + below(2));
        return elements(x) > 400 ? x : add(ir::Op::expand, {x}, ir::ToShape{s});
      }
      case 3:
      case 4: {
        ir::Slice a;
        const bool whole = chance(10);
        for (ir::Extent e : shape(x)) {
          const std::int64_t n = e.number(), step = 1 + below(2);
          const std::int64_t size = whole || chance(40) ? n : below(n + 1), used = (size - 1) * step < n ? step : 1;
          const std::int64_t start = size == 0 ? 0 : below(n - (size - 1) * used);
          const bool back = !whole && chance(30);
          a.starts.push_back(back && size > 0 ? start + (size - 1) * used : start);
          a.sizes.push_back(size);
          a.steps.push_back(back ? -used : whole ? 1 : used);
        }
        return add(ir::Op::slice, {x}, a);
      }
      case 5:
        return add(ir::Op::flip, {x}, ir::Axes{static_cast<std::uint64_t>(below(std::int64_t{1} << rank))});
      case 6: {
        ir::Padding a;
        const bool none = chance(30);
        for (ir::Extent e : shape(x)) {
          a.low.push_back(none ? 0 : below(2));
          a.high.push_back(none ? 0 : below(2));
          a.sizes.push_back(e.number() + a.low.back().number() + a.high.back().number());
        }
        const ir::Value value = add(ir::Op::constant, {}, ir::Literal{DType::i32, 7});
        return elements(x) > 400 ? x : add(ir::Op::pad, {x, value}, a);
      }
      case 7: {
        if (rank == 0 || elements(x) > 300) return x;
        const auto axis = static_cast<std::uint32_t>(below(static_cast<std::int64_t>(rank)));
        const std::int64_t copies = 1 + below(2);
        return add(ir::Op::concat, std::vector<ir::Value>(static_cast<std::size_t>(copies), x),
                   ir::Concat{axis, shape(x)[axis].number() * copies});
      }
      case 8:
      case 9:
        return elements(x) == 0 ? x : add(ir::Op::view, {x}, random_layout(elements(x), false));
      case 10:
      case 11: {
        if (elements(x) == 0) return x;
        const ir::Layout l = random_layout(elements(x), true);
        if (chance(15)) return add(ir::Op::store, {x, add(ir::Op::view, {x}, l)}, l);
        for (ir::Value v : pool_)
          if (shape(v) == l.sizes && v != x) return add(ir::Op::store, {x, v}, l);
        const ir::Value value = splat(l.sizes);
        return chance(50) ? add(ir::Op::store, {x, value}, l) : add(ir::Op::accumulate, {x, value}, l);
      }
      default:
        return chance(50) ? add(ir::Op::neg, {x}) : add(ir::Op::add, {x, chance(50) ? x : splat(shape(x))});
    }
  }

  std::mt19937& random_;
  ir::Graph graph_;
  std::vector<ir::Value> pool_;
  std::vector<ir::Layout> layouts_;
  std::vector<bool> injective_;
};

}  // namespace braze::test
