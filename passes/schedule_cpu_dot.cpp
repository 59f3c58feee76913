// dot: C[m, n] = sum over k of A[m, k] * B[k, n], with what is fused into the factors and after the product.
//
// Parallel over batches, strips of columns (one vector loop wide) and chunks of rows. In a strip, B is packed a block of k at a time, then a
// few rows of the strip are held in registers while k runs. Each element is the chain fma(a, b, sum) over k in order, from 0, in
// the compute type: blocks only pause the chain, so that its bits depend on no blocking.
//
// B may be a view whose dims k or n are merged of several, as the windows of a convolution are: packing is where its elements are
// found. What k's digits add to an address comes from a table that is made once a range. A strip is packed in segments in which all
// digits of n but the last stay as they are, so that a segment's lanes lie a stride apart.
#include <algorithm>
#include <optional>

#include "ir/error.h"
#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::LoopKind;
using ir::Primitive;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::int64_t k_block = 256;  // rows of B packed at a time: a strip of them stays in the first-level cache
constexpr std::int64_t fewest_blocks = 8, most_blocks = 64;  // a chunk of rows, in blocks held in registers
constexpr std::int64_t tasks_per_core = 4;

class Contract {
 public:
  explicit Contract(const Context& context)
      : context_(context),
        nest_(context.nest),
        index_(context.index()),
        lowered_(context.start()),
        emit_(nest_, context.module.graph, index_, lowered_),
        dot_(nest_.contractions[0]),
        batches_(static_cast<Variable>(nest_.axes.size() - 3)),
        m_(batches_),
        n_(batches_ + 1),
        k_(batches_ + 2),
        lanes_(lanes(context)),
        held_(context.target.vector_bytes >= 64 ? 8 : 6),
        type_(compute_type(context.module.graph.type(dot_.value).dtype)) {}

  void run() {
    take_outputs(emit_, true);
    if (is_turned()) {
      std::swap(m_, n_);
      std::swap(dot_.left, dot_.right);
    }
    find_digits();
    make_tables();
    std::vector<IndexId> extents;
    for (Variable axis = 0; axis < batches_; ++axis) extents.push_back(nest_.axes[axis].extent);
    extents.push_back(tasks(index_.ceil_div(nest_.axes[n_].extent, index_.number(lanes_)), m_));
    const IndexId chunk = chunk_rows(context_.product(extents));
    extents.push_back(tasks(index_.ceil_div(nest_.axes[m_].extent, chunk), n_));
    const IndexId extent = context_.product(extents);
    const Size size = emit_.size(extent);
    const std::vector<ValueId> digits = emit_.digits(emit_.open(LoopKind::parallel, size), extents);
    for (Variable axis = 0; axis < batches_; ++axis) emit_.bind(axis, {digits[axis]});
    columns_ = ir::emit_block_range(builder(), extent_of(n_), digits[batches_], lanes_);
    rows_.begin = emit_.mul(digits[batches_ + 1], emit_.size_value(chunk));
    rows_.count =
        Size::of_value(emit_.min(emit_.sub(emit_.size_value(nest_.axes[m_].extent), rows_.begin), emit_.size_value(chunk)));
    packed_ = builder().scratch(type_, ir::Space::heap, Size::of(k_block * lanes_));
    sums_ = builder().scratch(type_, ir::Space::heap, Size::of(held_ * most_blocks * lanes_));
    clear(sums_, rows_.count);
    const Size blocks = emit_.size(index_.ceil_div(nest_.axes[k_].extent, index_.number(k_block)));
    const ValueId block = emit_.open(LoopKind::serial, blocks);
    const ir::BlockRange depth = ir::emit_block_range(builder(), extent_of(k_), block, k_block);
    pack(depth);
    multiply(depth);
    emit_.close();
    finish_rows();
    reduce_factor(m_, rows_, digits[batches_]);
    reduce_factor(n_, columns_, digits[batches_ + 1]);
    emit_.close();
    context_.finish(std::move(lowered_), extent, context_.elements());
  }

 private:
  ir::KernelBuilder& builder() { return emit_.builder(); }
  bool reduces_along(Variable axis) const {
    return std::ranges::any_of(nest_.reductions, [&](const Reduction& reduction) { return reduction.along == axis; });
  }
  // Strips, or chunks: one at least where reductions along the other axis are left to the first, though the dot has no elements.
  IndexId tasks(IndexId count, Variable other) const { return reduces_along(other) ? index_.max(count, index_.number(1)) : count; }
  // Of few strips, shorter chunks, for all cores to have some.
  IndexId chunk_rows(IndexId strips) const {
    const IndexId blocks = index_.ceil_div(nest_.axes[m_].extent, index_.number(held_));
    const std::int64_t wanted_tasks = std::int64_t{tasks_per_core} * context_.target.cores;
    const IndexId chunks =
        index_.max(index_.floor_div(index_.number(wanted_tasks), index_.max(strips, index_.number(1))), index_.number(1));
    const IndexId fitting = index_.max(index_.ceil_div(blocks, chunks), index_.number(fewest_blocks));
    return index_.mul(index_.min(fitting, index_.number(most_blocks)), index_.number(held_));
  }
  // Windows that are read along their places, as in the gradient of a convolution's filters: they would be packed a few elements at a
  // time. So they are the rows.
  bool is_turned() const {
    if (!dot_.right_transposed) return false;
    const Reads reads = reads_of(dot_.right);
    AxisSet divided = 0;
    for (std::size_t i = 0; i < nest_.derived.size(); ++i)
      if (reads.at_once[i]) divided |= axes_of(i);
    return (divided & set_of({n_})) && (divided & set_of({k_}));
  }
  Size extent_of(Variable axis) { return emit_.size(nest_.axes[axis].extent); }
  // Lane `lane` of row `row` of an array that is a strip wide.
  ir::Access strip_at(std::uint32_t array, ValueId row, ValueId lane) const {
    return {array, {{row, Size::of(lanes_)}, {lane, Size::of(1)}}, {}};
  }
  // All lanes of a strip, those past the last column included: they hold zeros and are not kept.
  ValueId open_lanes() { return emit_.open(LoopKind::serial, Size::of(lanes_), lanes_); }

  ValueId wide(ExprId expr) {
    const ValueId value = emit_.wide_value(expr);
    const DType from = builder().type(value);
    if (from == type_) return value;
    return builder().append({.op = Primitive::convert, .type = type_, .from = from, .in = {value, ir::no_value, ir::no_value}});
  }

  ValueId multiply_add(ValueId a, ValueId b, ValueId sum) {
    if (is_float(type_)) return builder().append({.op = Primitive::fma, .type = type_, .in = {a, b, sum}});
    const bool boolean = type_ == DType::boolean;
    const ValueId product =
        builder().append({.op = boolean ? Primitive::bit_and : Primitive::mul, .type = type_, .in = {a, b, ir::no_value}});
    return builder().append(
        {.op = boolean ? Primitive::bit_or : Primitive::add, .type = type_, .in = {product, sum, ir::no_value}});
  }

  void clear(std::uint32_t array, Size rows) {
    const ValueId row = emit_.open(LoopKind::serial, rows);
    const ValueId lane = open_lanes();
    builder().store(strip_at(array, row, lane), builder().constant(type_, 0));
    emit_.close();
    emit_.close();
  }

  // ---- digits

  // By k: a digit of it, or what all of them add to an address.
  struct Table {
    std::optional<AffineId> address;
    std::vector<Variable> of;
    std::uint32_t array;
    bool left, right;  // which factors read it
  };

  Variable derived(std::size_t i) const { return derived_base + static_cast<Variable>(i); }
  AxisSet axes_of(std::size_t i) const { return emit_.axes_of_affine(nest_.derived[i].of); }
  bool is_column(AffineId id) const {
    const Affine& affine = nest_.affines[id];
    return affine.terms.size() == 1 && affine.terms[0].variable == n_ && index_.is_number(affine.terms[0].coefficient, 1) &&
           index_.is_number(affine.offset, 0);
  }

  struct Reads {
    std::vector<bool> at_once, at_all;  // by Nest::derived: whether an address names it, or what an address names is made of it
  };
  std::vector<bool> needed_by(ExprId root) const {
    std::vector<bool> needed(nest_.exprs.size());
    needed[root] = true;
    for (std::size_t i = root + 1; i-- > 0;)
      if (needed[i])
        for (const ExprId in : nest_.exprs[i].in) needed[in] = true;
    return needed;
  }
  Reads reads_of(ExprId root) const {
    Reads reads{std::vector<bool>(nest_.derived.size()), std::vector<bool>(nest_.derived.size())};
    const std::vector<bool> needed = needed_by(root);
    const auto mark = [&](AffineId id, std::vector<bool>& set) {
      for (const Affine::Term& term : nest_.affines[id].terms)
        if (term.variable >= derived_base) set[term.variable - derived_base] = true;
    };
    for (std::size_t i = root + 1; i-- > 0;) {
      const Expr& expr = nest_.exprs[i];
      if (!needed[i]) continue;
      if (has_affine(expr)) mark(expr.affine, reads.at_once);
      for (const Condition& condition : nest_.guards[expr.guard]) mark(condition.index, reads.at_once);
    }
    reads.at_all = reads.at_once;
    for (std::size_t i = nest_.derived.size(); i-- > 0;)
      if (reads.at_all[i]) mark(nest_.derived[i].of, reads.at_all);
    return reads;
  }

  // Whether a strip can be packed in segments: n is divided by one number alone, and its remainder no more.
  void find_digits() {
    const AxisSet n = set_of({n_});
    const Reads right = reads_of(dot_.right);
    find_tables();
    std::vector<bool> varies(nest_.derived.size());  // within a segment
    for (std::size_t i = 0; i < nest_.derived.size(); ++i) {
      const Derived& d = nest_.derived[i];
      if (!right.at_all[i] || !(axes_of(i) & n)) continue;
      if (is_column(d.of) && (!segment_ || *segment_ == d.divisor)) {
        segment_ = d.divisor;
        varies[i] = d.remainder;
        (d.remainder ? remainders_ : quotients_).push_back(derived(i));
        continue;
      }
      for (const Affine::Term& term : nest_.affines[d.of].terms)
        if (term.variable == n_ || (term.variable >= derived_base && varies[term.variable - derived_base])) {
          segment_.reset();
          return;
        }
    }
  }

  bool is_of_depth(Variable v) const { return v >= derived_base ? axes_of(v - derived_base) == set_of({k_}) : v == k_; }

  // What digits of k add to the address of a load, and digits of k that anything else names.
  void find_tables() {
    std::vector<bool> left_digits(nest_.derived.size()), right_digits(nest_.derived.size());
    for (const bool left : {true, false}) {
      std::vector<bool>& digits = left ? left_digits : right_digits;
      const std::vector<bool> needed = needed_by(left ? dot_.left : dot_.right);
      const auto name = [&](AffineId id) {
        for (const Affine::Term& term : nest_.affines[id].terms)
          if (term.variable >= derived_base && is_of_depth(term.variable)) digits[term.variable - derived_base] = true;
      };
      for (std::size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        const Expr& expr = nest_.exprs[i];
        if (expr.kind == Expr::Kind::load)
          find_offset(expr.affine, left);
        else if (has_affine(expr))
          name(expr.affine);
        for (const Condition& condition : nest_.guards[expr.guard]) name(condition.index);
      }
    }
    for (std::size_t i = 0; i < nest_.derived.size(); ++i)
      if (left_digits[i] || right_digits[i]) tables_.push_back({{}, {derived(i)}, 0, left_digits[i], right_digits[i]});
  }

  void find_offset(AffineId id, bool left) {
    Table found{id, {}, 0, left, !left};
    bool divided = false;
    for (const Affine::Term& term : nest_.affines[id].terms)
      if (is_of_depth(term.variable)) {
        found.of.push_back(term.variable);
        divided = divided || term.variable >= derived_base;
      }
    if (!divided) return;
    for (Table& table : tables_)
      if (table.address == id) {
        table.left = table.left || left;
        table.right = table.right || !left;
        return;
      }
    tables_.push_back(std::move(found));
  }

  // By k: divisions are dear, and each is needed in every strip.
  void make_tables() {
    if (tables_.empty()) return;
    for (Table& table : tables_) table.array = builder().scratch(DType::i64, ir::Space::heap, extent_of(k_));
    const ValueId k = emit_.open(LoopKind::serial, extent_of(k_));
    emit_.bind(k_, {k});
    for (const Table& table : tables_) builder().store({table.array, {{k, Size::of(1)}}, {}}, table_value(table));
    emit_.close();
  }

  ValueId table_value(const Table& table) {
    if (!table.address) return emit_.variable_value(table.of[0]);
    ValueId sum = ir::no_value;
    for (const Affine::Term& term : nest_.affines[*table.address].terms) {
      if (!is_of_depth(term.variable)) continue;
      const ValueId part = emit_.mul(emit_.variable_value(term.variable), emit_.size_value(term.coefficient));
      sum = sum == ir::no_value ? part : emit_.add(sum, part);
    }
    return sum;
  }

  void bind_depth(const ir::BlockRange& depth, ValueId k, bool left) {
    emit_.bind(k_, {depth.begin, k});
    for (const Table& table : tables_) {
      if (!(left ? table.left : table.right)) continue;
      const ValueId value = builder().load({table.array, {{depth.begin, Size::of(1)}, {k, Size::of(1)}}, {}});
      if (table.address)
        emit_.bind_part(*table.address, table.of, value);
      else
        emit_.bind(table.of[0], {value});
    }
  }

  // ---- the product

  void pack(const ir::BlockRange& depth) {
    const ValueId lanes = emit_.number(lanes_), zero = emit_.number(0);
    const ValueId full = builder().append(
        {.op = Primitive::le, .type = DType::boolean, .from = DType::i64, .in = {lanes, columns_.count.value, ir::no_value}});
    const ValueId cleared = builder().append({.op = Primitive::select, .type = DType::i64, .in = {full, zero, depth.count.value}});
    clear(packed_, Size::of_value(cleared));
    if (segment_)
      pack_segments(depth);
    else if (lies_along_depth())
      pack_transposed(depth);
    else
      pack_columns(depth, columns_.begin, columns_.count, zero);
  }

  // `count` columns from `begin` on, which are the strip's from `at` on.
  void pack_columns(const ir::BlockRange& depth, ValueId begin, Size count, ValueId at, ValueId remainder = ir::no_value) {
    const ValueId lane = emit_.open(LoopKind::serial, count, lanes_);
    emit_.bind(n_, {begin, lane});
    for (const Variable v : remainders_)
      if (remainder != ir::no_value) emit_.bind(v, {remainder, lane});
    const ValueId k = emit_.open(LoopKind::serial, depth.count);
    bind_depth(depth, k, false);
    ir::Access to = strip_at(packed_, k, lane);
    to.terms.push_back({at, Size::of(1)});
    builder().store(to, wide(dot_.right));
    emit_.close();
    emit_.close();
  }

  // Whether elements lie side by side along k: B is the transpose of what is in memory, as a layer's weights are.
  bool lies_along_depth() const {
    const std::vector<bool> needed = needed_by(dot_.right);
    bool along = false;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const Expr& expr = nest_.exprs[i];
      if (!needed[i] || expr.kind != Expr::Kind::load) continue;
      for (const Affine::Term& term : nest_.affines[expr.affine].terms) {
        const bool one = index_.is_number(term.coefficient, 1);
        if (term.variable == n_ && one) return false;
        along = along || (term.variable == k_ && one);
      }
    }
    return along && tables_.empty();
  }

  // A few elements of each column in turn: each cache line is read once and whole, however far apart the columns are.
  void pack_transposed(const ir::BlockRange& depth) {
    const ValueId k = emit_.open(LoopKind::serial, depth.count, lanes_ / 2);
    emit_.bind(k_, {depth.begin, k});
    const ValueId column = emit_.open(LoopKind::serial, columns_.count);
    emit_.bind(n_, {columns_.begin, column});
    builder().store(strip_at(packed_, k, column), wide(dot_.right));
    emit_.close();
    emit_.close();
  }

  void pack_segments(const ir::BlockRange& depth) {
    const ValueId length = emit_.size_value(*segment_), begin = columns_.begin, one = emit_.number(1);
    const ValueId end = emit_.add(begin, columns_.count.value);
    const ValueId first = emit_.quo(begin, length), last = emit_.quo(emit_.sub(end, one), length);
    const ValueId segment = emit_.open(LoopKind::serial, Size::of_value(emit_.add(emit_.sub(last, first), one)));
    const ValueId number = emit_.add(first, segment), origin = emit_.mul(number, length);
    const ValueId from = emit_.max(begin, origin), to = emit_.min(end, emit_.add(origin, length));
    for (const Variable v : quotients_) emit_.bind(v, {number});
    pack_columns(depth, from, Size::of_value(emit_.sub(to, from)), emit_.sub(from, begin), emit_.sub(from, origin));
    emit_.close();
  }

  // Blocks of held_ rows, and one of half as many where no more are left; past the last row, that one is computed again and not kept.
  void multiply(const ir::BlockRange& depth) {
    const std::int64_t half = held_ / 2;
    const ValueId held = emit_.number(held_), count = rows_.count.value, zero = emit_.number(0);
    const ValueId blocks = emit_.quo(emit_.add(count, emit_.number(held_ - half - 1)), held);
    const ValueId block = emit_.open(LoopKind::serial, Size::of_value(blocks));
    multiply_rows(depth, emit_.mul(block, held), held_);
    emit_.close();
    const ValueId rest = emit_.mul(blocks, held);
    const ValueId some = emit_.max(zero, emit_.min(emit_.sub(count, rest), emit_.number(1)));
    emit_.open(LoopKind::serial, Size::of_value(some));
    multiply_rows(depth, rest, half);
    emit_.close();
  }

  void multiply_rows(const ir::BlockRange& depth, ValueId first, std::int64_t count) {
    const ValueId last = emit_.sub(rows_.count.value, emit_.number(1));
    std::vector<ValueId> rows, sums;
    for (std::int64_t r = 0; r < count; ++r) rows.push_back(emit_.min(emit_.add(first, emit_.number(r)), last));
    const ValueId lane = open_lanes();
    for (const ValueId row : rows) sums.push_back(builder().load(strip_at(sums_, row, lane)));
    const ValueId k = emit_.open(LoopKind::serial, depth.count);
    for (ValueId& sum : sums) sum = builder().carry(sum);
    const ValueId b = builder().load(strip_at(packed_, k, lane));
    bind_depth(depth, k, true);
    for (std::size_t r = 0; r < sums.size(); ++r) {
      emit_.enter();
      emit_.bind(m_, {rows_.begin, rows[r]});
      builder().yield(r, multiply_add(wide(dot_.left), b, sums[r]));
      emit_.leave();
    }
    const std::vector<ValueId> results = emit_.close();
    for (std::size_t r = 0; r < results.size(); ++r) builder().store(strip_at(sums_, rows[r], lane), results[r]);
    emit_.close();
  }

  void finish_rows() {
    const ValueId row = emit_.open(LoopKind::serial, rows_.count);
    emit_.bind(m_, {rows_.begin, row});
    const ValueId lane = emit_.open(LoopKind::serial, columns_.count, lanes_);
    emit_.bind(n_, {columns_.begin, lane});
    const ValueId sum = builder().load(strip_at(sums_, row, lane));
    for (ExprId e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      if (expr.kind != Expr::Kind::reduced || expr.number != contraction_number) continue;
      emit_.define(
          e, expr.type == type_
                 ? sum
                 : builder().append(
                       {.op = Primitive::convert, .type = expr.type, .from = type_, .in = {sum, ir::no_value, ir::no_value}}));
    }
    store_outputs(emit_, true);
    emit_.close();
    emit_.close();
  }

  // Reductions beside the dot that leave `axis`: the first strip's tasks reduce their rows, or the first chunk's their columns, in the
  // order that such a reduction has anywhere.
  void reduce_factor(Variable axis, const ir::BlockRange& range, ValueId other) {
    std::vector<std::size_t> members;
    for (std::size_t r = 0; r < nest_.reductions.size(); ++r)
      if (nest_.reductions[r].along == axis) members.push_back(r);
    if (members.empty()) return;
    const bool inner = nest_.reductions[members[0]].order == ReduceOrder::inner;
    const std::int64_t block = inner ? ir::inner_block : ir::outer_block;
    const IndexId depth = nest_.axes[k_].extent;
    const Size blocks = emit_.size(index_.max(index_.ceil_div(depth, index_.number(block)), index_.number(1)));
    builder().open_if(builder().append(
        {.op = Primitive::eq, .type = DType::boolean, .from = DType::i64, .in = {other, emit_.number(0), ir::no_value}}));
    emit_.enter();
    Stage stage(emit_, members);
    emit_.bind(axis, {range.begin, emit_.open(LoopKind::serial, range.count, inner ? 1 : lanes_)});
    const auto reduce = inner ? ir::emit_inner_reduction : ir::emit_outer_reduction;
    stage.define(reduce(builder(), emit_.size(depth), blocks, stage.combine(), stage.identities(), [&](ir::ReducedIndex at) {
      emit_.enter();
      std::vector<ValueId> parts;
      if (at.begin != ir::no_value) parts.push_back(at.begin);
      parts.push_back(at.step);
      emit_.bind(k_, parts);
      std::vector<ValueId> tuple = stage.element();
      emit_.leave();
      return tuple;
    }));
    store_outputs(emit_, true, axis);
    emit_.close();
    emit_.leave();
    builder().close_if();
  }

  const Context& context_;
  const Nest& nest_;
  ir::IndexTable& index_;
  Lowered lowered_;
  NestEmitter emit_;
  Contraction dot_;
  const Variable batches_;  // axes before
  Variable m_, n_;
  const Variable k_;
  const std::int32_t lanes_;
  const std::int64_t held_;  // rows in registers
  const DType type_;
  ir::BlockRange columns_, rows_;
  std::uint32_t packed_ = 0, sums_ = 0;
  std::optional<IndexId> segment_;  // columns of a segment; none: a strip is packed as a whole
  std::vector<Variable> quotients_, remainders_;
  std::vector<Table> tables_;
};

}  // namespace

void schedule_contraction(const Context& context) { Contract(context).run(); }

}  // namespace braze::passes::cpu
