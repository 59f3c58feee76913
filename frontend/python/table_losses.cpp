// Rows of braze/losses.h.
#include "braze/losses.h"

#include "frontend/python/signature.h"

namespace braze::python {

namespace {

namespace F = nn::functional;

void warn(PyObject* category, const std::string& text) {
  if (PyErr_WarnEx(category, text.c_str(), 1) < 0) throw PythonError{};
}

// `reduction`, or what PyTorch's old pair of flags says, of which size_average stands at `old`.
std::string reduction(Arguments& a, std::size_t at, std::size_t old, std::size_t reduce) {
  if (a.none(old) && a.none(reduce)) return a.string(at);
  const bool average = a.none(old) || a.boolean(old), whole = a.none(reduce) || a.boolean(reduce);
  const std::string name = !whole ? "none" : average ? "mean" : "sum";
  warn(PyExc_UserWarning, "size_average and reduce args will be deprecated, please use reduction='" + name + "' instead.");
  return name;
}

// Such losses broadcast, and PyTorch warns of it.
void warn_of_broadcasting(Arguments& a) {
  if (!a.is_tensor(0) || !a.is_tensor(1) || a.tensor(0).sizes() == a.tensor(1).sizes()) return;
  const auto text = [](const Tensor& x) { return fmt::format("torch.Size([{}])", fmt::join(x.sizes(), ", ")); };
  warn(PyExc_UserWarning, fmt::format("Using a target size ({}) that is different to the input size ({}). This will likely lead to "
                                      "incorrect results due to broadcasting. Please ensure they have the same size.",
                                      text(a.tensor(1)), text(a.tensor(0))));
}

Sizes lengths(Arguments& a, std::size_t i) {
  if (!a.is_tensor(i)) return a.ints(i);
  Sizes out;
  for (const std::int64_t n : a.tensor(i).to(DType::i64).to_vector<std::int64_t>()) out.push_back(n);
  return out;
}

const Rows rows{
    {"mse_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\", Tensor? "
     "weight=None)",
     functional,
     [](Arguments& a) {
       warn_of_broadcasting(a);
       return F::mse_loss(a.in(0), a.tensor(1), reduction(a, 4, 2, 3), a.tensor_or_none(5));
     },
     "The squared difference."},
    {"l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\", Tensor? "
     "weight=None)",
     functional,
     [](Arguments& a) {
       warn_of_broadcasting(a);
       return F::l1_loss(a.in(0), a.tensor(1), reduction(a, 4, 2, 3), a.tensor_or_none(5));
     },
     "The absolute difference."},
    {"smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\", float "
     "beta=1.0)",
     functional,
     [](Arguments& a) {
       warn_of_broadcasting(a);
       return F::smooth_l1_loss(a.in(0), a.tensor(1), reduction(a, 4, 2, 3), a.number(5));
     },
     "The absolute difference, quadratic nearer than beta."},
    {"huber_loss(Tensor input, Tensor target, str reduction=\"mean\", float delta=1.0, Tensor? weight=None)", functional,
     [](Arguments& a) {
       warn_of_broadcasting(a);
       return F::huber_loss(a.in(0), a.tensor(1), a.string(2), a.number(3), a.tensor_or_none(4));
     },
     "The squared difference, linear beyond delta."},
    {"binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
     "reduction=\"mean\")",
     functional,
     [](Arguments& a) { return F::binary_cross_entropy(a.in(0), a.tensor(1), a.tensor_or_none(2), reduction(a, 5, 3, 4)); },
     "Minus the log likelihood of probabilities."},
    {"binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? "
     "reduce=None, "
     "str reduction=\"mean\", Tensor? pos_weight=None)",
     functional,
     [](Arguments& a) {
       return F::binary_cross_entropy_with_logits(a.in(0), a.tensor(1), a.tensor_or_none(2), reduction(a, 5, 3, 4),
                                                  a.tensor_or_none(6));
     },
     "Minus the log likelihood of logits."},
    {"kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\", bool "
     "log_target=False)",
     functional,
     [](Arguments& a) {
       const std::string how = reduction(a, 4, 2, 3);
       if (how == "mean")
         warn(
             PyExc_UserWarning,
             "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
             "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in "
             "the "
             "next major release.");
       return F::kl_div(a.in(0), a.tensor(1), how, a.boolean(5));
     },
     "The divergence of the target from exp(input)."},
    {"poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float "
     "eps=1e-08, "
     "bool? reduce=None, str reduction=\"mean\")",
     functional,
     [](Arguments& a) {
       return F::poisson_nll_loss(a.in(0), a.tensor(1), a.boolean(2), a.boolean(3), a.number(5), reduction(a, 7, 4, 6));
     },
     "Minus the log likelihood of Poisson rates."},
    {"gaussian_nll_loss(Tensor input, Tensor target, Tensor|Scalar var, bool full=False, float eps=1e-06, str reduction=\"mean\")",
     functional,
     [](Arguments& a) {
       const Tensor var = a.is_tensor(2) ? a.tensor(2) : full(a.tensor(0).sizes(), a.scalar(2), {a.tensor(0).dtype()});
       if (any(var < 0).item<bool>()) raise(PyExc_ValueError, "var has negative entry/entries");
       return F::gaussian_nll_loss(a.in(0), a.tensor(1), var, a.boolean(3), a.number(4), a.string(5));
     },
     "Minus the log likelihood of normal distributions."},
    {"soft_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\")",
     functional, [](Arguments& a) { return F::soft_margin_loss(a.in(0), a.tensor(1), reduction(a, 4, 2, 3)); },
     "log(1 + exp(-target * input))."},
    {"nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
     "reduce=None, "
     "str reduction=\"mean\")",
     functional,
     [](Arguments& a) { return F::nll_loss(a.in(0), a.tensor(1), a.tensor_or_none(2), a.integer(4), reduction(a, 6, 3, 5)); },
     "Minus the log probability of the target's class."},
    {"cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
     "reduce=None, str reduction=\"mean\", float label_smoothing=0.0)",
     functional,
     [](Arguments& a) {
       return F::cross_entropy(a.in(0), a.tensor(1), a.tensor_or_none(2), a.integer(4), reduction(a, 6, 3, 5), a.number(7));
     },
     "Minus the log probability that softmax of the input gives the target's class."},
    {"multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, "
     "bool? "
     "reduce=None, str reduction=\"mean\")",
     functional,
     [](Arguments& a) {
       return F::multi_margin_loss(a.in(0), a.tensor(1), a.integer(2), a.number(3), a.tensor_or_none(4), reduction(a, 7, 5, 6));
     },
     "By how much other classes come nearer to the target's than the margin."},
    {"multilabel_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction=\"mean\")",
     functional, [](Arguments& a) { return F::multilabel_margin_loss(a.in(0), a.tensor(1), reduction(a, 4, 2, 3)); },
     "multi_margin_loss with several classes, up to the first -1."},
    {"multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
     "str "
     "reduction=\"mean\")",
     functional,
     [](Arguments& a) { return F::multilabel_soft_margin_loss(a.in(0), a.tensor(1), a.tensor_or_none(2), reduction(a, 5, 3, 4)); },
     "Each class's minus log likelihood, averaged."},
    {"ctc_loss(Tensor log_probs, Tensor targets, object input_lengths, object target_lengths, int blank=0, str reduction=\"mean\", "
     "bool zero_infinity=False)",
     functional,
     [](Arguments& a) {
       return F::ctc_loss(a.in(0), a.tensor(1), lengths(a, 2), lengths(a, 3), a.integer(4), a.string(5), a.boolean(6));
     },
     "Minus the log probability of all alignments of a sequence."},
    {"hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, str "
     "reduction=\"mean\")",
     functional, [](Arguments& a) { return F::hinge_embedding_loss(a.in(0), a.tensor(1), a.number(2), reduction(a, 5, 3, 4)); },
     "The input where the target is 1, what it lacks to the margin where it is -1."},
    {"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? "
     "reduce=None, str reduction=\"mean\")",
     functional,
     [](Arguments& a) { return F::cosine_embedding_loss(a.in(0), a.tensor(1), a.tensor(2), a.number(3), reduction(a, 6, 4, 5)); },
     "1 - cosine where the target is 1, the cosine beyond the margin where it is -1."},
    {"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? "
     "reduce=None, "
     "str reduction=\"mean\")",
     functional,
     [](Arguments& a) { return F::margin_ranking_loss(a.in(0), a.tensor(1), a.tensor(2), a.number(3), reduction(a, 6, 4, 5)); },
     "By how much the order is wrong."},
    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool "
     "swap=False, bool? size_average=None, bool? reduce=None, str reduction=\"mean\")",
     functional,
     [](Arguments& a) {
       return F::triplet_margin_loss(a.in(0), a.tensor(1), a.tensor(2), a.number(3), a.number(4), a.number(5), a.boolean(6),
                                     reduction(a, 9, 7, 8));
     },
     "By how much the positive is not nearer than the negative."},
};

}  // namespace

}  // namespace braze::python
