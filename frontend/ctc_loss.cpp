// Connectionist temporal classification: the forward recursion over all samples at once, one step a frame.
// https://www.cs.toronto.edu/~graves/icml_2006.pdf
#include <algorithm>
#include <limits>

#include "braze/functional.h"
#include "frontend/composing.h"
#include "frontend/losses.h"

namespace braze::nn::functional {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// log(e^a + e^b + e^c), whose gradient is 0 where all are minus infinity.
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor most = maximum(maximum(a, b), c).detach();
  const Tensor none = most == minus_infinity, base = where(none, 0, most);
  const Tensor total = exp(a - base) + exp(b - base) + exp(c - base);
  return where(none, minus_infinity, log(where(none, 1, total)) + base);
}

// Targets of all in a row as rows of one length.
Tensor padded(const Tensor& targets, SizesView lengths, std::int64_t longest) {
  std::vector<std::int64_t> at;
  std::int64_t start = 0;
  for (const std::int64_t n : lengths) {
    for (std::int64_t i = 0; i < longest; ++i) at.push_back(i < n ? start + i : 0);
    start += n;
  }
  require(targets.numel() == start,
          "Expected tensor to have size at least {}, but got size {} for argument #2 'targets' (while checking "
          "arguments for ctc_loss_cpu)",
          start, targets.numel());
  const auto rows = static_cast<std::int64_t>(lengths.size());
  if (longest == 0) return zeros({rows, 0}, {DType::i64});
  return targets.index_select(0, from_data(at.data(), {static_cast<std::int64_t>(at.size())})).reshape({rows, longest});
}

struct Alignment {
  Tensor labels;  // [N, 2 S + 1]: blanks between, before and after the targets
  Tensor skips;   // where the label two before leads here too
};

Alignment align(const Tensor& targets, std::int64_t blank) {
  const std::int64_t batch = targets.size(0), count = targets.size(1);
  const Tensor blanks = full({batch, count + 1}, blank, {DType::i64});
  const Tensor between = stack({blanks.narrow(1, 0, count), targets}, 2).reshape({batch, 2 * count});
  const Tensor labels = cat({between, blanks.narrow(1, 0, 1)}, 1);
  const Tensor before = braze::pad(labels.narrow(1, 0, std::max<std::int64_t>(2 * count - 1, 0)),
                                   {std::min<std::int64_t>(2, 2 * count + 1), 0}, blank);
  return {labels, (labels != blank) & (labels != before)};
}

// `x` moved `by` to the right along dim 1.
Tensor shifted(const Tensor& x, std::int64_t by) {
  const std::int64_t n = x.size(1);
  if (by >= n) return full_like(x, minus_infinity);
  return braze::pad(x.narrow(1, 0, n - by), {by, 0}, minus_infinity);
}

Tensor as_tensor(SizesView numbers) {
  return from_data(std::span<const std::int64_t>(numbers).data(), {static_cast<std::int64_t>(numbers.size())});
}
Tensor as_column(SizesView numbers) { return as_tensor(numbers).unsqueeze(1); }

}  // namespace

Tensor ctc_loss(const In& log_probs, const Tensor& targets, SizesView input_lengths, SizesView target_lengths, std::int64_t blank,
                std::string_view reduction, bool zero_infinity) {
  const Tensor& given = require_tensor("ctc_loss", log_probs);
  require_reduction(reduction);
  const SourceLine line(log_probs.where());
  require(given.dim() == 2 || given.dim() == 3, "ctc_loss: log_probs must be 2D or 3D, got {}D", given.dim());
  if (!is_float(given.dtype())) not_implemented_for("ctc_loss", given.dtype());
  const bool alone = given.dim() == 2;
  const Tensor x = alone ? given.unsqueeze(1) : given;
  const std::int64_t frames = x.size(0), batch = x.size(1), classes = x.size(2);
  require(blank >= 0 && blank < classes, "blank must be in label range");
  require(static_cast<std::int64_t>(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
  require(static_cast<std::int64_t>(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
  std::int64_t longest = 0;
  for (const std::int64_t n : target_lengths) {
    require(n >= 0, "Expected target_lengths to be non-negative, but got {}", n);
    longest = std::max(longest, n);
  }
  for (const std::int64_t n : input_lengths)
    require(n >= 0 && n <= frames,
            "Expected input_lengths to have value at most {}, but got value {} (while checking arguments for "
            "ctc_loss_cpu)",
            frames, n);
  const Tensor numbers = targets.to(DType::i64);
  require(alone || numbers.dim() == 1 || (numbers.dim() == 2 && numbers.size(0) == batch && numbers.size(1) >= longest),
          "Expected targets of batch size {} and at least {} labels, but got {}", batch, longest, sizes_text(numbers.sizes()));
  const Tensor rows = numbers.dim() == 2 ? numbers.narrow(1, 0, longest) : padded(numbers.reshape({-1}), target_lengths, longest);
  // What stands behind a sample's own labels is never asked for, but must name a class.
  const Tensor own = where(positions(longest) < as_column(target_lengths), rows, blank);
  const Alignment a = align(own, blank);
  const std::int64_t states = a.labels.size(1);
  const Tensor chances = x.gather(2, a.labels.unsqueeze(0).expand({frames, batch, states}));
  const Tensor state = positions(states), frame_counts = as_column(input_lengths);
  Tensor alpha = where(state == 0, full({batch, states}, 0, {x.dtype()}), minus_infinity);  // before the first frame
  for (std::int64_t t = 0; t < frames; ++t) {
    const Tensor one = t == 0 ? where(state == 1, 0, full({batch, states}, minus_infinity, {x.dtype()})) : shifted(alpha, 1);
    const Tensor two = t == 0 ? full_like(alpha, minus_infinity) : where(a.skips, shifted(alpha, 2), minus_infinity);
    const Tensor next = log_sum(alpha, one, two) + chances.select(0, t);
    alpha = where(frame_counts > t, next, alpha);
  }
  const Tensor last = as_column(target_lengths) * 2;
  const Tensor ends = where((state == last) | (state == last - 1), alpha, minus_infinity);
  const Tensor most = ends.amax(1, true).detach(), none = most == minus_infinity, base = where(none, 0, most);
  const Tensor total = exp(ends - base).sum(1, true);
  Tensor losses = -where(none, minus_infinity, log(where(none, 1, total)) + base).squeeze(1);
  // PyTorch's gradient is the one for log probabilities that a softmax made: it has the probabilities too, which that softmax cancels.
  const Tensor counted = positions(frames).reshape({frames, 1, 1}) < frame_counts.unsqueeze(0);
  const Tensor mass = where(counted, exp(x), 0).sum(Sizes{0, 2});
  losses = losses + (mass - mass.detach());
  if (zero_infinity) losses = where(isinf(losses), 0, losses);
  if (reduction == "mean") {
    const Tensor counts = maximum(as_tensor(target_lengths), 1);
    return (losses / counts.to(losses.dtype())).mean();
  }
  const Tensor result = reduced(losses, reduction);
  return alone && reduction == "none" ? result.squeeze(0) : result;
}

}  // namespace braze::nn::functional
