// How tensors take part in derivatives.
//
// A leaf that requires grad is read through an identity node that carries the leaf's AutogradMeta: gradients of all versions of the
// leaf meet there, and a backward pass goes no further. Every other tensor is differentiable as the value is that its storage holds.
// Three things stand between a tensor and that value (see source()):
//  * a cut tensor (detach, or a view made without grad mode of what requires grad) is read through an identity that is not differentiable;
//  * a view is read through an identity of its own, made with it, so that a gradient of the view is what came through the view. It
//    serves until the storage is written to; then the view is one of the new value;
//  * a write that a derivative must not see (without grad mode, or through a cut tensor) leaves a value whose derivative is that of
//    the version before; a write of a constant leaves one whose derivative is zero.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/autograd/names.h"
#include "frontend/tensor_impl.h"

namespace braze {

// What a tensor knows of gradients; of a leaf it is also what its identities carry.
class AutogradMeta final : public engine::Gradient {
 public:
  Tensor grad;
  bool retains_grad = false;
  // Of a leaf: what the last backward pass that reached it started from. Whoever runs an update by `grad` runs it, too: see evaluate_step.
  std::vector<engine::Value> roots;
  struct Hook {
    std::uint64_t id;
    std::function<Tensor(const Tensor& gradient)> call;
  };
  std::vector<Hook> hooks;
  struct PostHook {
    std::uint64_t id;
    std::function<void(const Tensor& leaf)> call;
  };
  std::vector<PostHook> post_accumulate_hooks;

  TensorImpl* tensor = nullptr;  // the leaf, as long as it lives
  bool overwritten = false;      // last written through tensor_data(): derivatives read what is there now

  // Of a tensor_data(): the leaf's.
  AutogradMeta* unnoticed_by = nullptr;  // counted

  // Of a view: what it reads, and of which generation of the storage.
  engine::Value source;
  std::uint64_t generation = 0;

  // Of a view whose elements share places, or a view of one: its elements side by side, each with a gradient of its own, how the view
  // lies in them, and the type as which it does. What reads the view otherwise comes through `source`.
  engine::Value elements;
  Geometry layout;
  engine::TypeRef laid_out_as;
  ~AutogradMeta() override {
    if (unnoticed_by) unnoticed_by->drop();
  }
};

// Where a gradient lies: it comes as elements of the storage, and the tensor shows these.
struct GradientLayout {
  DType dtype;
  Geometry geometry;
  bool conjugate = false;
};
GradientLayout gradient_layout(const TensorImpl& tensor);
// Whether two index tuples may address one element. Exact for layouts whose sorted strides nest, as all views of PyTorch's do; else
// decided by marking every address.
bool overlaps_itself(const Geometry& g);
// The elements that lie so in a value of that many.
engine::Value read_through(const engine::Value& value, std::int64_t elements, const Geometry& g, ir::Location where);
// What knows the tensor's own elements, where it has some and the storage was not written to since; else nothing.
const AutogradMeta* elements_of(const TensorImpl& tensor);
// These in order; pairs of reals for a complex tensor, not conjugated.
engine::Value spread(const AutogradMeta& meta, DType dtype, ir::Location where);
// `x`, or where it has elements of its own a tensor that holds them.
Tensor spread(const Tensor& x);
// `view` has these elements: all of `value`, which was made from `of` for it, or what lies so in those of what it is a view of.
void set_elements(TensorImpl& view, const engine::Value& value, const engine::Value& of);
void set_elements(TensorImpl& view, const AutogradMeta& of, const Geometry& layout);
// A tensor that lies as one does in its elements, to make views of for their layouts alone.
Tensor stand_in(const TensorImpl& tensor, const AutogradMeta& meta);
// A view of x, and by the same function of its elements, where it has some.
template <class Function>
Tensor make_view(const Tensor& x, Geometry geometry, DType dtype, const Function& same) {
  Tensor view = make_view(x, std::move(geometry), dtype);
  if (const AutogradMeta* meta = elements_of(checked(x))) [[unlikely]]
    set_elements(*view.impl(), *meta, checked(same(stand_in(checked(x), *meta))).layout());
  return view;
}
// Throws where the tensor is no leaf and elements share a place, so that they would share a gradient; `what` asks for it.
void require_gradients_apart(const TensorImpl& tensor, const char* what);

// A derivative that is not of an op: of a user's function, or of a write that derivatives do not see.
class CustomGradient : public engine::Gradient {
 public:
  std::vector<engine::Value> inputs;  // values that gradients go to
  std::vector<engine::TypeRef> outputs;
  // From the outputs' cotangents (none where there is none) to the inputs'.
  virtual std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) = 0;
  // From the inputs' tangents to the outputs', likewise.
  virtual std::vector<engine::Value> push(std::span<const engine::Value> tangents) = 0;
  virtual std::string name() const = 0;
  virtual bool reads_values() const { return false; }  // a second backward is an error
  virtual void release() {}                            // what it saved
  // What the output renames has the same derivative by its ops.
  virtual bool is_shortcut() const { return false; }
};

// Output k of a custom gradient.
class CustomOutput final : public engine::Gradient {
 public:
  CustomOutput(CustomGradient* custom, std::uint32_t number) : custom(custom), number(number) { custom->retain(); }
  ~CustomOutput() override { custom->drop(); }
  CustomGradient* const custom;
  const std::uint32_t number;
};

// A cheaper way back than the ops' own, which gives the same gradients. Who goes op by op (jvp, vmap) never sees it.
struct Shortcut {
  std::string name;
  std::vector<Tensor> inputs;  // gradients go to those that require grad
  std::vector<Tensor> saved;   // until the graph is freed
  // From the result's gradient to the inputs', undefined where none is asked for.
  std::function<std::vector<Tensor>(const Tensor& gradient, std::span<const Tensor> saved)> pull;
};
Tensor with_shortcut(const Tensor& composed, Shortcut shortcut);

// Where a node's derivative is not what its op says: who goes op by op would miss it.
const CustomOutput* own_derivative(const engine::Node& node);
// What a node's derivative goes back to, one after another: its operands, and the inputs of a derivative of its own; none after the last.
const engine::Value* source_of_derivative(const engine::Node& node, std::size_t number);

// A flag of nodes, beside Node's own: an identity that a storage holds instead of its operand. It is the operand's step, not one of its own.
inline constexpr std::uint8_t same_step = 32;

AutogradMeta& meta_of(TensorImpl& tensor);  // makes it where there is none
bool requires_grad(const TensorImpl& tensor);
// A view of `of` was made.
void track_view(TensorImpl& view, const TensorImpl& of);

// `memory`, which holds the same elements as `value` in memory of its own, in its place: with its derivative.
engine::Value in_place_of(const engine::Value& value, engine::Value memory);
// engine::owned, with the derivative.
engine::Value owned_value(const engine::Value& value);
// `value`, which takes the place of all that the tensor's storage holds, with a derivative of zero in that.
engine::Value written_over(const TensorImpl& tensor, engine::Value value);
// The value, with a derivative of zero in `of`.
engine::Value constant_in(const engine::Value& value, const engine::Value& of);

// Evaluates the tensors, what an update has changed, together with the losses that their gradients are of, as far as a tensor still holds
// them: one program. A loss read later by itself would compute the forward pass again.
void evaluate_step(std::span<const Tensor> changed);

// Forgets the gradient of `param`, or makes it zero. Forgetting asks nothing, so that a traced step does not depend on what was there.
void forget_gradient(const Tensor& param, bool set_to_none);

// The tensor has another storage now.
void forget_source(TensorImpl& tensor);

// ---- hooks on what is no leaf ----

struct Observer {
  AutogradMeta* meta;  // counted
  unsigned result;
  GradientLayout layout;
  bool bypassed = false;  // of a view with elements of its own: what comes here is missed there
};
// The node's gradient will be shown to `tensor`'s hooks.
void observe(TensorImpl& tensor);
std::vector<Observer> observers_of(const engine::Node* node);  // each meta retained: drop it

}  // namespace braze
