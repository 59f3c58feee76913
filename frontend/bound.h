// What braze::compile keeps of one trace: a Program bound to everything but its buffers, what must hold for a call to be what was traced,
// and what a call does beside running the Program.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frontend/autograd/trace_notes.h"

namespace braze {

// What must match for a trace to serve an argument: dtype, sizes, layout, the storage's shape, and which argument shares its storage.
struct Signature {
  engine::TypeRef type, stored;
  GeometryRef geometry;
  std::size_t same_storage_as;
  bool conjugate;
  bool matches(const TensorImpl& impl, std::size_t alias) const;
};

// The first argument that lives in the same storage; itself for most.
std::size_t alias_of(std::span<const Tensor> arguments, std::size_t i);

// Where a buffer that the Program reads comes from at each call.
struct Source {
  enum class Kind { argument, captured, fixed } kind;
  std::size_t argument = 0;
  StoragePointer captured;
  engine::Value fixed, stand_in;  // it stands for what is not fixed in `roots`
};

// Where a storage lives that a result or a gradient refers to.
struct Home {
  enum class Kind { fresh, argument, captured } kind;
  std::size_t number = 0;  // of Bound::fresh, or of the argument
  StoragePointer captured;
};

// A storage that the function makes.
struct Fresh {
  std::size_t output;
  std::string freed;  // of a value that a derivative came from, and which a backward pass is done with: the name that its step has
};

struct Result {
  Home home;
  engine::TypeRef type;
  GeometryRef geometry;
  bool conjugate;
  std::optional<std::size_t> argument;  // the result is this argument, the very tensor
};

struct Commit {
  Home home;  // argument or captured
  std::size_t output;
};

// .grad of a leaf after the call.
struct GradientCommit {
  Pointer<TensorImpl> leaf;
  Tensor before;  // when traced
  bool read, assigned;
  std::optional<Result> now;  // none: no gradient
  bool unchanged() const;
};

// A storage that the function reads or writes beside its arguments: it is none of theirs, and its value has this shape.
struct CapturedSignature {
  StoragePointer storage;
  engine::TypeRef stored;
  bool matches(std::span<const Tensor> arguments) const;
};

// An argument that lives in a storage that the function reads or writes beside its arguments, too.
struct Given {
  std::size_t argument;
  StoragePointer storage;
};

// Memory that `look` looks at before the Program runs.
struct Precondition {
  Home home;  // argument or captured
  DType type;
  Geometry geometry;
  std::function<void(const Tensor&)> look;
};

struct Bound {
  // The Program for buffers that stay, or one that overwrites those that only their storages have. Compiled when a call asks for it.
  struct Variant {
    engine::Walk walk;
    std::shared_ptr<const engine::Compiled> compiled;
    std::vector<std::int64_t> symbols;
  };
  // Argument `scalar` of the Program is number `number` of update `update`.
  struct Patch {
    std::uint32_t scalar, update, number;
  };

  std::vector<Signature> signature;
  std::vector<Given> given;
  std::vector<CapturedSignature> captured;
  std::vector<SeenTensor> seen;
  std::vector<std::function<bool()>> guards;
  std::vector<engine::Value> roots;  // pending: what either variant is made of
  std::vector<std::uint64_t> scalars;
  std::vector<Patch> patches;
  std::vector<Source> sources;
  std::vector<std::size_t> overwritten_sources;
  std::vector<engine::TypeRef> output_types;
  std::vector<Fresh> fresh;
  std::vector<Result> results;
  std::vector<Commit> commits;
  std::vector<GradientCommit> gradients;
  std::vector<NotedUpdate> updates;
  std::vector<Precondition> preconditions;
  bool fuse = !engine::eager();
  bool grad_mode = engine::grad_enabled();
  DType default_type = get_default_dtype();
  // A derivative passes through the function: what it depends on is watched, and it may run as it is.
  bool derivatives = false;
  // Why it runs as it is, recorded at each call; empty where it need not.
  std::string as_it_is;
  bool for_now = false;  // a later call may well be traced

  bool matches(std::span<const Tensor> arguments) const;
  // What the updates pass to this call; false where they are not what was traced.
  bool rehearse(std::vector<NotedUpdate::Rehearsed>& out) const;
  const Variant& variant(bool overwrites) const;
  // Throws what a check among the ops says of this call's values, if one refuses them.
  void complain(std::span<const Tensor> arguments) const;
  void run(std::span<const Tensor> arguments, std::span<const NotedUpdate::Rehearsed> rehearsed, std::span<Tensor> out) const;

  mutable std::mutex building;
  mutable Variant variants[2];  // the second overwrites
};

}  // namespace braze
