// The pass that turns a group into a nest, in four files: the group's domain, its places and its outputs (lower_domain.cpp), every value
// evaluated where it is needed (lower_values.cpp), what no address reads dropped and axes joined (lower_tidy.cpp), and the pass itself
// (lower.cpp).
#pragma once

#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "passes/affine.h"
#include "passes/groups.h"
#include "passes/nest.h"

namespace braze::passes::lowering {

using ir::Extent;
using ir::Graph;
using ir::IndexId;
using ir::IndexTable;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

// Where a value is evaluated: one affine an axis, or the place among its row-major elements.
struct Place {
  bool linear = false;
  InlineVector<AffineId, 6> at;
};

// For each natural axis of the domain, the extents of the axes of the nest that it became (none for extent number 1), outermost first.
using Splits = std::vector<std::vector<IndexId>>;

struct Domain {
  const Shape* shape = nullptr;  // of the elements; for a contraction, left alone
  std::optional<NodeId> reduction, contraction;
};

// The natural axes of a dot. One whose products are added as a reduction adds is a sum of products: k comes last, or before the rows or
// columns that are the contiguous axis of the factor that has several.
struct DotAxes {
  std::size_t m, n, k;
  bool product = true;  // not a sum
};
DotAxes dot_axes(const Graph& graph, NodeId id);

// The concat that a group is, whose parts are computed each where it goes.
const Node* concat_of(const Graph& graph, const Group& group);
Domain domain_of(const Graph& graph, const Group& group, std::size_t part);

class Lowering {
 public:
  Lowering(const Graph& graph, const Extents& extents, const Group& group, std::size_t part, const Splits& splits);
  Nest run();
  // The natural axis and part of an axis of the nest.
  std::pair<std::size_t, std::size_t> natural(Variable axis) const { return parts_[axis]; }
  static std::vector<IndexId> natural_extents(const Graph& graph, const Extents& extents, const Group& group, std::size_t part);

 private:
  struct Request {
    Value value;
    Place place;
    GuardId guard = 0;
  };

  void make_axes(const Splits& splits);
  void add_outputs();
  void find_along();
  Variable along_of(Value value);
  AffineId apart_in_tile(AffineId address, Variable along);
  void add_part(const Node& concat);
  ExprId evaluate(const Request& request);
  std::optional<ExprId> known(const Request& request) const;
  std::optional<ExprId> attempt(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> all(const std::vector<Request>& wanted, std::vector<Request>& missing, std::vector<ExprId>& out);
  std::optional<Request> moved(const Request& request);
  std::optional<ExprId> pad(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> concat(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> reduce(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> reduce_factor(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> contract(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> elementwise(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> wrap(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> take(const Request& request, std::vector<Request>& missing);
  ExprId leaf(const Request& request);

  ExprId add(Expr expr);
  GuardId guarded(GuardId base, const std::vector<Condition>& more);
  std::uint32_t buffer(Value value);
  AffineId linear(const Place& place, const Shape& shape);
  Place spread(const Place& place, const Shape& shape);
  std::optional<Place> domain_place(const Shape& shape, bool row);
  AffineId row_major(const std::vector<std::size_t>& natural_axes);
  Place element_place(const Shape& shape);
  Place place_along(Variable axis, const Shape& shape);
  std::pair<Place, Place> factor_places() const;

  const Graph& graph_;
  const Extents& extents_;
  const Group& group_;
  const std::size_t part_;
  IndexTable& index_;
  Nest nest_;
  AffineArithmetic affine_;
  std::unordered_set<NodeId> inside_;
  std::vector<IndexId> natural_extents_;
  std::vector<AffineId> coordinates_;                       // of the natural axes
  std::vector<bool> reduced_, unit_;                        // the natural axes
  std::vector<std::pair<std::size_t, std::size_t>> parts_;  // by axis of the nest
  std::optional<NodeId> reduction_, contraction_;
  std::map<std::vector<std::uint32_t>, ExprId> done_;
  std::map<std::vector<std::uint64_t>, ExprId> exprs_;
  std::map<std::uint64_t, std::uint32_t> buffers_;
  std::map<NodeId, std::uint32_t> reductions_;
  std::map<NodeId, Variable> along_;  // beside a dot: what is made of reductions, by the axis that they leave
};

// Drops guards, quotients and affines that nothing reads, joins axes that every address steps through as one, and numbers the stages of
// the reductions.
void tidy(Nest& nest, IndexTable& index);

}  // namespace braze::passes::lowering
