#include "passes/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace braze::passes {

using ir::IndexId;
using ir::IndexTable;

namespace {

bool meet(const Tenant& a, const Tenant& b) { return a.first <= b.last && b.first <= a.last; }

// Ranges, each as large as the largest of the tenants that take turns in it. Where sizes are known, large ones come first, so that small
// ones find room in what is there.
ArenaLayout in_ranges(std::span<const Tenant> tenants, std::span<const std::uint32_t> order, IndexTable& index, bool known) {
  struct Range {
    IndexId bytes;
    std::map<std::size_t, std::size_t> busy;  // first step of a life: the last
    std::vector<std::uint32_t> tenants;

    bool is_free(const Tenant& tenant) const {
      const auto after = busy.upper_bound(tenant.last);
      return after == busy.begin() || std::prev(after)->second < tenant.first;
    }
  };
  std::vector<Range> ranges;
  for (const std::uint32_t t : order) {
    const Tenant& tenant = tenants[t];
    const auto fits = [&](const Range& range) { return (known || range.bytes == tenant.bytes) && range.is_free(tenant); };
    auto range = std::find_if(ranges.begin(), ranges.end(), fits);
    if (range == ranges.end()) range = ranges.insert(range, {tenant.bytes, {}, {}});
    range->bytes = index.max(range->bytes, tenant.bytes);
    range->busy.emplace(tenant.first, tenant.last);
    range->tenants.push_back(t);
  }
  ArenaLayout layout{std::vector<IndexId>(tenants.size()), index.number(0)};
  for (const Range& range : ranges) {
    for (const std::uint32_t t : range.tenants) layout.offsets[t] = layout.bytes;
    layout.bytes = index.add(layout.bytes, range.bytes);
  }
  return layout;
}

// Where each tenant lies for the sizes that are known: in the smallest gap, between those that it meets and that are placed, which holds
// it, or else above them.
std::vector<std::int64_t> places(std::span<const Tenant> tenants, std::span<const std::uint32_t> order,
                                 std::span<const std::int64_t> bytes) {
  std::vector<std::int64_t> low(tenants.size());
  std::vector<std::uint32_t> placed;  // by low end
  const auto lower = [&](std::uint32_t a, std::uint32_t b) { return low[a] < low[b]; };
  for (const std::uint32_t t : order) {
    constexpr std::int64_t nowhere = -1;
    std::int64_t end = 0, best = nowhere, waste = 0;
    for (const std::uint32_t other : placed) {
      if (!meet(tenants[t], tenants[other])) continue;
      const std::int64_t left = low[other] - end - bytes[t];
      if (left >= 0 && (best == nowhere || left < waste)) {
        best = end;
        waste = left;
      }
      end = std::max(end, low[other] + bytes[other]);
    }
    low[t] = best == nowhere ? end : best;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), t, lower), t);
  }
  return low;
}

std::int64_t height(std::span<const std::int64_t> low, std::span<const std::int64_t> bytes) {
  std::int64_t top = 0;
  for (std::size_t t = 0; t < low.size(); ++t) top = std::max(top, low[t] + bytes[t]);
  return top;
}

// Steps that some lives cover, as runs.
class Cover {
 public:
  bool meets(const Tenant& tenant) const {
    const auto after = runs_.upper_bound(tenant.last);
    return after != runs_.begin() && std::prev(after)->second >= tenant.first;
  }
  void add(const Tenant& tenant) {
    std::size_t first = tenant.first, last = tenant.last;
    for (auto at = runs_.upper_bound(last); at != runs_.begin() && std::prev(at)->second >= first;) {
      --at;
      first = std::min(first, at->first);
      last = std::max(last, at->second);
      at = runs_.erase(at);
    }
    runs_.emplace(first, last);
  }

 private:
  std::map<std::size_t, std::size_t> runs_;  // first step: last
};

// Each tenant on top of those that it meets and that lie below it: where the sizes are those that were known, at its place or lower, and
// for all others without overlap.
ArenaLayout stacked(std::span<const Tenant> tenants, std::span<const std::int64_t> low, std::span<const std::int64_t> bytes,
                    IndexTable& index) {
  std::vector<std::uint32_t> upwards(tenants.size());
  std::iota(upwards.begin(), upwards.end(), 0u);
  std::stable_sort(upwards.begin(), upwards.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return low[a] != low[b] ? low[a] < low[b] : bytes[a] < bytes[b]; });
  ArenaLayout layout{std::vector<IndexId>(tenants.size()), index.number(0)};
  std::vector<IndexId> ends(tenants.size());
  // What lies below another one that is mentioned, and meets it, ends below that one.
  const auto top_of = [&](std::size_t count, auto counts) {
    std::optional<IndexId> top;
    Cover mentioned;
    for (std::size_t i = count; i-- > 0;) {
      const Tenant& below = tenants[upwards[i]];
      if (!counts(below)) continue;
      if (!mentioned.meets(below)) top = top ? index.max(*top, ends[upwards[i]]) : ends[upwards[i]];
      mentioned.add(below);
    }
    return top ? *top : index.number(0);
  };
  for (std::size_t i = 0; i < upwards.size(); ++i) {
    const std::uint32_t t = upwards[i];
    layout.offsets[t] = top_of(i, [&](const Tenant& below) { return meet(tenants[t], below); });
    ends[t] = index.add(layout.offsets[t], tenants[t].bytes);
  }
  layout.bytes = top_of(upwards.size(), [](const Tenant&) { return true; });
  return layout;
}

}  // namespace

ArenaLayout lay_out(std::span<const Tenant> tenants, IndexTable& index, std::span<const std::int64_t> values) {
  std::vector<std::uint32_t> by_time(tenants.size());
  std::iota(by_time.begin(), by_time.end(), 0u);
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return tenants[a].first < tenants[b].first; });
  if (values.empty()) return in_ranges(tenants, by_time, index, false);
  std::vector<std::int64_t> bytes;
  for (const Tenant& tenant : tenants) bytes.push_back(values[tenant.bytes]);
  std::vector<std::uint32_t> by_size = by_time, by_area = by_time;
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::uint32_t a, std::uint32_t b) { return bytes[a] > bytes[b]; });
  constexpr std::size_t most_stacked = 1024;  // the work is quadratic
  if (tenants.size() > most_stacked) return in_ranges(tenants, by_size, index, true);
  const auto area = [&](std::uint32_t t) {
    return static_cast<double>(bytes[t]) * static_cast<double>(tenants[t].last - tenants[t].first + 1);
  };
  std::stable_sort(by_area.begin(), by_area.end(), [&](std::uint32_t a, std::uint32_t b) { return area(a) > area(b); });
  std::vector<std::int64_t> best = places(tenants, by_size, bytes);
  for (const auto& order : {by_area, by_time})
    if (auto other = places(tenants, order, bytes); height(other, bytes) < height(best, bytes)) best = std::move(other);
  return stacked(tenants, best, bytes, index);
}

}  // namespace braze::passes
