// Losses of classes. The element of a class is picked by comparing: it fuses with the softmax before it, and so does its gradient.
#include "braze/losses.h"

#include "frontend/autograd/names.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/composing.h"
#include "frontend/losses.h"
#include "frontend/positions.h"

namespace braze::nn::functional {

namespace {

// Classes of a batch: input as [N, C, d...], classes as [N, 1, d...], those to ignore made 0.
struct Classes {
  Tensor input, classes, ignored;
  bool alone;  // without a batch
};

// `given` with those to ignore made 0; of the rest one outside [0, count) is an IndexError. What is not too large is looked at here and now:
// a check in the graph could fail later, and then each parameter that a step updates would have to keep what it was before.
Tensor checked_classes(const Tensor& given, const Tensor& ignored, std::int64_t ignore_index, std::int64_t count) {
  const Tensor classes = ignored.defined() ? where(ignored, 0, given) : given;
  if (given.numel() <= checked_at_the_call) {
    const auto look = [count, ignore_index, ignores = ignored.defined()](const Tensor& now) {
      for (const std::int64_t c : now.eval().to_vector<std::int64_t>())
        require<IndexError>((c >= 0 && c < count) || (ignores && c == ignore_index), "Target {} is out of bounds.", c);
    };
    if (!engine::tracing()) {
      look(given);
      return classes;
    }
    if (TraceNotes::active() && TraceNotes::active()->at_each_call(given, look)) return classes;
  }
  const Tensor counted = where(classes < 0, count, classes);
  const engine::Value value = read(checked(counted), here());
  return wrap(engine::record(ir::Op::wrap_index, {&value, 1}, ir::WrapIndex{count}, here()));
}
Tensor checked_classes(const Tensor& given, std::int64_t count) { return checked_classes(given, {}, 0, count); }

Classes classes_of(const Tensor& input, const Tensor& target, std::int64_t ignore_index) {
  Classes c;
  c.alone = input.dim() == 1;
  c.input = c.alone ? input.unsqueeze(0) : input;
  Tensor classes = c.alone && target.dim() == 0 ? target.unsqueeze(0) : target;
  if (target.dtype() != DType::i64 && target.dtype() != DType::u8)
    fail("expected target dtype to be Long or Byte, but got {}", info(target.dtype()).scalar_name);
  classes = classes.to(DType::i64).unsqueeze(1);
  c.ignored = classes == ignore_index;
  c.classes = checked_classes(classes, c.ignored, ignore_index, c.input.size(1));
  return c;
}

// The numbers of classes along dim 1.
Tensor numbers(const Tensor& input) {
  Sizes sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  return positions(input.size(1)).reshape(sizes);
}

Tensor pick(const Tensor& input, const Tensor& classes) { return where(numbers(input) == classes, input, 0).sum(1, true); }

// One weight for each class along dim 1.
Tensor weights_along(const Tensor& weight, const Tensor& input) {
  Sizes sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  return weight.to(input.dtype()).reshape(sizes);
}

void require_weight(const Tensor& weight, std::int64_t classes) {
  require(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
          "weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}", classes,
          weight.defined() ? fmt::to_string(sizes_text(weight.sizes())) : "");
}

// What is lost and how much it weighs, for each target; both [N, 1, d...].
struct Weighed {
  Tensor losses, weights;
};

Weighed negative_likelihood(const Tensor& log_probabilities, const Classes& c, const Tensor& weight) {
  const Tensor& x = log_probabilities;
  const Tensor counted = where(c.ignored, 0, full({}, 1, {x.dtype()}));
  const Tensor weights = weight.defined() ? counted * pick(weights_along(weight, x).expand(x.sizes()), c.classes) : counted;
  // Where a target is ignored nothing of the input may reach the loss, infinities neither.
  return {where(c.ignored, 0, -weights * pick(x, c.classes)), weights};
}

Tensor finish(const Weighed& w, bool alone, std::string_view reduction) {
  if (reduction == "sum") return w.losses.sum();
  if (reduction == "mean") return w.losses.sum() / w.weights.sum();
  const Tensor each = w.losses.squeeze(1);
  return alone ? each.squeeze(0) : each;
}

void require_class_shapes(const Tensor& input, const Tensor& target) {
  const std::int64_t rank = input.dim();
  require<ValueError>(rank > 0, "Expected 1 or more dimensions (got {})", rank);
  if (rank == 1) {
    require(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
    require(target.numel() == 1, "size mismatch (got input: {}, target: {})", sizes_text(input.sizes()),
            sizes_text(target.sizes()));
    return;
  }
  const std::int64_t batch = target.dim() > 0 ? target.size(0) : 1;
  require<ValueError>(target.dim() > 0 && input.size(0) == batch, "Expected input batch_size ({}) to match target batch_size ({}).",
                      input.size(0), batch);
  if (rank == 2) {
    require(target.dim() == 1, "0D or 1D target tensor expected, multi-target not supported");
    return;
  }
  Sizes expected = input.sizes();
  expected.erase(expected.begin() + 1);
  require(target.sizes() == expected, "Expected target size {}, got {}", sizes_text(expected), sizes_text(target.sizes()));
}

// Targets that are probabilities of all classes.
Tensor soft_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, std::string_view reduction,
                          double label_smoothing) {
  require(is_float(target.dtype()), "Expected floating point type for target with class probabilities, got {}",
          info(target.dtype()).scalar_name);
  const std::int64_t axis = input.dim() == 1 ? 0 : 1, classes = input.size(axis);
  Tensor wanted = target.to(input.dtype());
  if (label_smoothing > 0) wanted = wanted * (1 - label_smoothing) + label_smoothing / static_cast<double>(classes);
  Tensor each = log_softmax(input, axis) * wanted;
  if (weight.defined()) each = each * (axis == 0 ? weight.to(input.dtype()) : weights_along(weight, input));
  if (reduction == "sum") return -each.sum();
  if (reduction == "none") return -each.sum(axis);
  return -each.sum() / (static_cast<double>(input.numel()) / static_cast<double>(classes));
}

Tensor class_cross_entropy(const Classes& c, const Tensor& weight, std::string_view reduction, double label_smoothing) {
  const Tensor log_probabilities = log_softmax(c.input, 1);
  const Weighed nll = negative_likelihood(log_probabilities, c, weight);
  if (label_smoothing == 0) return finish(nll, c.alone, reduction);
  const Tensor all = weight.defined() ? log_probabilities * weights_along(weight, c.input) : log_probabilities;
  const Weighed smooth{where(c.ignored, 0, -all.sum(1, true)), nll.weights};
  const double share = label_smoothing / static_cast<double>(c.input.size(1));
  return finish(nll, c.alone, reduction) * (1 - label_smoothing) + finish(smooth, c.alone, reduction) * share;
}

}  // namespace

Tensor nll_loss(const In& input, const Tensor& target, const Tensor& weight, std::int64_t ignore_index,
                std::string_view reduction) {
  const Tensor& x = require_tensor("nll_loss", input);
  const GradientScope scope(x.dim() > 2 ? GradientName::NllLoss2DBackward0 : GradientName::NllLossBackward0);
  require_reduction(reduction);
  require_class_shapes(x, target);
  const SourceLine line(input.where());
  if (!is_float(x.dtype())) not_implemented_for("nll_loss_out_frame", x.dtype());
  require_weight(weight, x.dim() == 1 ? x.size(0) : x.size(1));
  return in_compute_type(x, [&](const Tensor& x) {
    const Classes c = classes_of(x, target, ignore_index);
    return finish(negative_likelihood(c.input, c, weight), c.alone, reduction);
  });
}

Tensor cross_entropy(const In& input, const Tensor& target, const Tensor& weight, std::int64_t ignore_index,
                     std::string_view reduction, double label_smoothing) {
  const Tensor& x = require_tensor("cross_entropy_loss", input);
  require_reduction(reduction);
  require(label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: {}", label_smoothing);
  const bool soft = x.sizes() == target.sizes() && x.dim() > 0;
  const GradientScope scope(soft                  ? GradientName::DivBackward1
                            : label_smoothing > 0 ? GradientName::AddBackward0
                            : x.dim() > 2         ? GradientName::NllLoss2DBackward0
                                                  : GradientName::NllLossBackward0);
  if (!soft) require_class_shapes(x, target);
  const SourceLine line(input.where());
  if (!is_float(x.dtype())) not_implemented_for("log_softmax_lastdim_kernel_impl", x.dtype());
  const std::int64_t classes = x.dim() == 1 ? x.size(0) : x.size(1);
  require(
      !weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
      "cross_entropy: weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}",
      classes, weight.defined() ? fmt::to_string(sizes_text(weight.sizes())) : "");
  return in_compute_type(x, [&](const Tensor& x) {
    if (soft) return soft_cross_entropy(x, target, weight, reduction, label_smoothing);
    return class_cross_entropy(classes_of(x, target, ignore_index), weight, reduction, label_smoothing);
  });
}

Tensor multi_margin_loss(const In& input, const Tensor& target, std::int64_t p, double margin, const Tensor& weight,
                         std::string_view reduction) {
  const GradientScope scope(GradientName::MultiMarginLossBackward0);
  const Tensor& x = require_tensor("multi_margin_loss", input);
  require_reduction(reduction);
  require<ValueError>(p == 1 || p == 2, "only p == 1 and p == 2 supported");
  require<ValueError>(!weight.defined() || weight.dim() == 1, "weight must be one-dimensional");
  require(x.dim() <= 2 && x.numel() > 0, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}",
          sizes_text(x.sizes()));
  const std::int64_t batch = x.dim() == 2 ? x.size(0) : 1;
  require(target.dim() <= 1 && target.numel() == batch, "inconsistent target size, expected {} but got {}", batch,
          sizes_text(target.sizes()));
  const SourceLine line(input.where());
  if (!is_float(x.dtype())) not_implemented_for("multi_margin_loss", x.dtype());
  return in_compute_type(x, [&](const Tensor& x) {
    const Tensor rows = x.dim() == 2 ? x : x.reshape({1, -1});
    const Tensor classes = checked_classes(target.to(DType::i64).reshape({-1, 1}), rows.size(1));
    const Tensor lack = margin - pick(rows, classes) + rows;
    Tensor each = where(lack > 0, lack, 0);
    if (p == 2) each = square(each);
    if (weight.defined()) each = each * pick(weights_along(weight, rows).expand(rows.sizes()), classes);
    const Tensor losses = where(numbers(rows) == classes, 0, each).sum(1) / rows.size(1);
    return reduced(x.dim() == 2 ? losses : losses.squeeze(0), reduction);
  });
}

Tensor multilabel_margin_loss(const In& input, const Tensor& target, std::string_view reduction) {
  const GradientScope scope(GradientName::MultilabelMarginLossBackward0);
  const Tensor& x = require_tensor("multilabel_margin_loss", input);
  require_reduction(reduction);
  require(x.dim() <= 2 && x.numel() > 0, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}",
          sizes_text(x.sizes()));
  require(target.sizes() == x.sizes(), "inconsistent target size: {} for input of size: {}", sizes_text(target.sizes()),
          sizes_text(x.sizes()));
  const SourceLine line(input.where());
  if (!is_float(x.dtype())) not_implemented_for("multilabel_margin_loss_forward_out_frame", x.dtype());
  return in_compute_type(x, [&](const Tensor& x) {
    const std::int64_t classes = x.dim() == 0 ? 1 : x.size(-1);
    const Tensor rows = x.reshape({-1, classes}), given = target.to(DType::i64).reshape({-1, classes});
    const Tensor named = (given >= 0).to(DType::i64).cumprod(1) > 0;  // up to the first negative one
    const Tensor listed = checked_classes(where(named, given, 0), classes);
    // [N, named class, class]: each named class against each class that is not named.
    const Tensor number = positions(classes).reshape({1, 1, -1});
    const Tensor holds = ((listed.unsqueeze(2) == number) & named.unsqueeze(2)).any(1);
    const Tensor theirs = where(listed.unsqueeze(2) == number, rows.unsqueeze(1), 0).sum(2);
    const Tensor lack = 1 - (theirs.unsqueeze(2) - rows.unsqueeze(1)), each = where(lack > 0, lack, 0);
    const Tensor counted = named.unsqueeze(2) & ~holds.unsqueeze(1);
    const Tensor losses = where(counted, each, 0).sum(Sizes{1, 2}) / classes;
    return reduced(x.dim() == 2 ? losses : losses.squeeze(0), reduction);
  });
}

Tensor multilabel_soft_margin_loss(const In& input, const Tensor& target, const Tensor& weight, std::string_view reduction) {
  const Tensor& x = require_tensor("multilabel_soft_margin_loss", input);
  require_reduction(reduction);
  const SourceLine line(input.where());
  if (!is_float(x.dtype())) not_implemented_for("multilabel_soft_margin_loss", x.dtype());
  return in_compute_type(x, [&](const Tensor& x) {
    const auto log_sigmoid = [](const Tensor& x) { return minimum(x, 0) - log1p(exp(-abs(x))); };
    const Tensor t = target.to(x.dtype());
    Tensor each = -(t * log_sigmoid(x) + (1 - t) * log_sigmoid(-x));
    if (weight.defined()) each = each * weight;
    return reduced(each.sum(-1) / x.size(-1), reduction);
  });
}

}  // namespace braze::nn::functional
