// The pass that decides which nodes share a kernel, in four files: what each node is to fusion (fuse_classify.cpp), groups that grow
// (fuse_place.cpp), values computed again instead of kept (fuse_recompute.cpp), and the groups as they leave (fuse.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/affine.h"
#include "passes/fuse.h"
#include "passes/nest.h"

namespace braze::passes::fusion {

inline constexpr ir::NodeId none = ~ir::NodeId{0};
inline constexpr int cheap = 8;         // what computing an element again may cost
inline constexpr int trivial = 2;       // the same, many times over
inline constexpr int search_cap = 512;  // groups that a search for a cycle visits

// What a node is to fusion. free: constants, scalars, and what is computed from them alone: part of each reader.
enum class Role : std::uint8_t { dead, leaf, free, view, member };

// How an operand's elements lie to the point at which a node reads them.
struct Relation {
  enum class Kind : std::uint8_t {
    same,   // at the point itself
    row,    // at the point without some axes
    moved,  // elsewhere, each element at most once
    spread  // elsewhere, an element several times
  } kind;
  std::vector<std::uint8_t> axes;  // row: the point's axes that the operand has, outermost first
};

struct Domain {
  std::vector<ir::IndexId> extents;  // without axes of extent number 1
  std::vector<bool> reduced;
  bool reduces = false, contracts = false;
  bool serial = false;  // its kernel holds nothing else
  ReduceOrder order = ReduceOrder::inner;

  std::vector<ir::IndexId> rows() const {
    std::vector<ir::IndexId> result;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (!reduced[i]) result.push_back(extents[i]);
    return result;
  }
};

struct Cluster {  // a group in the making
  Domain domain;
  std::vector<ir::NodeId> nodes;
  std::vector<std::uint32_t> needs, users;  // other clusters, perhaps merged since
  std::vector<ir::NodeId> reads;            // sorted: what it reads from memory
  std::uint32_t level = 0;
  std::uint32_t parent;
};

class Fuser {
 public:
  Fuser(const ir::Graph& graph, const Options& options)
      : graph_(graph),
        options_(options),
        extents_(graph, index_),
        role_(graph.size(), Role::dead),
        cluster_of_(graph.size(), none),
        row_(graph.size()),
        kept_(graph.size()),
        fill_(graph.size()),
        again_(graph.size()),
        view_depth_(graph.size()) {}
  void run(Module& module);

 private:
  struct Operand {
    ir::Value through;  // as the node names it
    ir::Value base;     // behind the views
    Relation relation;
    bool storage = false;  // what a store writes over: in memory, whole, before its kernel runs
  };

  void classify();
  void keep_in_memory();
  bool merges_factor_axes(ir::Value value) const;
  bool is_free(ir::NodeId id) const;
  std::vector<Operand> operands(ir::NodeId id);
  Operand look_through(ir::Value value, const ir::Shape& point) const;
  const ir::Shape& point(ir::NodeId id) const;
  Domain domain_of(ir::NodeId id);
  std::vector<ir::IndexId> squeezed(const ir::Shape& shape) const;

  std::uint32_t find(std::uint32_t cluster);
  void place(ir::NodeId id);
  std::uint32_t target_of(ir::NodeId id, const std::vector<Operand>& reads);
  std::string refusal(ir::NodeId id, std::uint32_t target, const std::vector<Operand>& reads);
  std::optional<std::uint32_t> fits(ir::NodeId id, const Operand& operand, std::string& why);
  std::string merge_domains(std::uint32_t into, std::uint32_t other, bool& rows_only);
  bool try_merge(std::uint32_t a, std::uint32_t b, std::string& why);
  bool depends(std::uint32_t from, std::uint32_t to);
  bool again_within(ir::NodeId base, std::uint32_t cluster);
  bool raise(std::uint32_t cluster, std::uint32_t level);
  void absorb(std::uint32_t into, std::uint32_t other, bool as_rows);
  void join(ir::NodeId id, std::uint32_t cluster, bool row, const std::vector<Operand>& operands);
  void note(ir::NodeId producer, ir::NodeId consumer, std::string why);

  void recompute();
  struct Again {
    int cost = 0;
    std::size_t nodes = 0;
    std::vector<ir::NodeId> reads;  // sorted
    std::vector<ir::NodeId> keeps;  // what must be in memory for it
    std::vector<ir::NodeId> computed;
    bool movable = true;
  };
  int cost_of(ir::NodeId id) const;
  Again again(ir::NodeId id);
  bool once_a_row(ir::NodeId id, std::uint32_t cluster) const;
  bool is_small(ir::NodeId id, ir::NodeId beside) const;
  void siblings();
  bool joins_dot(std::uint32_t dot, std::uint32_t other);
  std::vector<std::uint32_t> sequence_of_clusters();
  void emit(Module& module);
  std::vector<ir::NodeId> closure(std::uint32_t cluster, const std::vector<ir::Value>& roots, std::vector<ir::Value>& reads);

  const ir::Graph& graph_;
  const Options& options_;
  ir::IndexTable index_;
  Extents extents_;
  std::vector<Role> role_;
  std::vector<ir::NodeId> order_;
  std::vector<std::uint32_t> cluster_of_;
  std::vector<bool> row_;    // a value of the row, not of the element
  std::vector<bool> kept_;   // must be in memory
  std::vector<bool> fill_;   // of constants, and in memory only to be written over: whoever reads its elements makes them again
  std::vector<bool> again_;  // computed by each group that reads it from elsewhere
  std::vector<std::uint8_t> view_depth_;
  std::vector<Cluster> clusters_;
  std::vector<Note> notes_;
};

}  // namespace braze::passes::fusion
