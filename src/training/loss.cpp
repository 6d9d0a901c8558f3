#include "matapprox/training/loss.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/require.hpp"

namespace matapprox::training {
namespace {

const char* answer_name(tasks::Answer answer) {
  if (answer == tasks::Answer::kNumber) return "number";
  return answer == tasks::Answer::kLabels ? "set of labels" : "class";
}

/// Returns the binary cross entropy against q = wanted(c) and sets its gradient (sigma(o) - q) / C.
/// The sum of log(1 + e^-|o|) + max(o, 0) - q o does not overflow.
template <class T, class Wanted>
double binary_loss(const T* out, Index classes, const Wanted& wanted, T* d_out) {
  const auto count = static_cast<double>(classes);
  double loss = 0;
  for (Index c = 0; c < classes; ++c) {
    const double o = out[c];
    loss += std::log1p(std::exp(-std::abs(o))) + std::max(o, 0.0) - wanted(c) * o;
    d_out[c] = static_cast<T>((1 / (1 + std::exp(-o)) - wanted(c)) / count);
  }
  return loss / count;
}

}  // namespace

void LossOptions::visit(OptionVisitor& v) {
  v.visit_enum("loss",
               kind,
               "auto: squared for numbers, cross_entropy for classes, binary for sets of labels");
  v.visit("label_smoothing", label_smoothing, "fraction of each answer spread over all classes");
}

Loss::Loss(const LossOptions& options, const tasks::TaskShape& task)
    : kind_(options.kind), smoothing_(options.label_smoothing), task_(task) {
  const bool number = task.answer == tasks::Answer::kNumber;
  const bool set = task.answer == tasks::Answer::kLabels;
  if (kind_ == LossKind::kAuto) {
    const LossKind of_labels = set ? LossKind::kBinaryCrossEntropy : LossKind::kCrossEntropy;
    kind_ = number ? LossKind::kSquared : of_labels;
  }
  require(
      number == (kind_ == LossKind::kSquared) && (!set || kind_ == LossKind::kBinaryCrossEntropy),
      "loss: {} does not fit a task whose answer is a {}",
      enum_name(kind_),
      answer_name(task.answer));
  require(
      smoothing_ >= 0 && smoothing_ < 1, "loss: label_smoothing {} is outside 0..1", smoothing_);
  require(!number || smoothing_ == 0, "loss: label_smoothing is for classes");
}

/// The derivative of cross entropy by o is softmax(o) - q.
template <class T>
double Loss::class_loss(const T* out, Index label, T* d_out) const {
  const Index C = task_.classes;
  require(label >= 0 && label < C, "loss: label {} is outside 0..{}", label, C - 1);
  const double even = smoothing_ / static_cast<double>(C);
  const auto wanted = [&](Index c) { return even + (c == label ? 1 - smoothing_ : 0); };
  if (kind_ == LossKind::kBinaryCrossEntropy) return binary_loss(out, C, wanted, d_out);
  double loss = 0;
  const double largest = *std::max_element(out, out + C);
  double sum = 0;
  for (Index c = 0; c < C; ++c) sum += std::exp(out[c] - largest);
  const double log_sum = largest + std::log(sum);
  for (Index c = 0; c < C; ++c) {
    loss += wanted(c) * (log_sum - out[c]);
    d_out[c] = static_cast<T>(std::exp(out[c] - log_sum) - wanted(c));
  }
  return loss;
}

template <class T>
LossValue Loss::labels_loss(const tasks::Sample& sample, const T* out, T* d_out) const {
  const Index C = task_.classes;
  require(
      std::ssize(sample.labels) == C, "loss: {} labels; the task has {}", sample.labels.size(), C);
  LossValue value;
  value.answers = C;
  for (Index c = 0; c < C; ++c) {
    const std::int32_t label = sample.labels[static_cast<std::size_t>(c)];
    require(label == 0 || label == 1, "loss: label {} is {}, not 0 or 1", c, label);
    if ((out[c] > 0) != (label == 1)) value.errors += 1;
  }
  const auto wanted = [&](Index c) {
    return (1 - smoothing_) * sample.labels[static_cast<std::size_t>(c)] + smoothing_ / 2;
  };
  value.loss = binary_loss(out, C, wanted, d_out);
  return value;
}

template <class T>
LossValue Loss::evaluate(const tasks::Sample& sample,
                         const attention::ConstTokens<T>& out,
                         attention::Tokens<T> d_out) const {
  LossValue value;
  if (kind_ == LossKind::kSquared) {
    const double off = out(0, 0) - sample.number;
    d_out(0, 0) = static_cast<T>(2 * off);
    return {off * off, 1, std::abs(off) >= task_.tolerance ? 1 : 0};
  }
  if (task_.answer == tasks::Answer::kLabels)
    return labels_loss(sample, out.row(0).data(), d_out.row(0).data());
  const bool each = task_.answer == tasks::Answer::kTokenClass;
  for (Index i = 0; i < out.rows(); ++i) {
    const Index label = each ? sample.labels[static_cast<std::size_t>(i)] : sample.label;
    if (each && label < 0) {
      d_out.row(i).setZero();
      continue;
    }
    const T* row = out.row(i).data();
    value.loss += class_loss(row, label, d_out.row(i).data());
    value.answers += 1;
    if (std::max_element(row, row + task_.classes) - row != label) value.errors += 1;
  }
  if (value.answers > 1) {
    value.loss /= static_cast<double>(value.answers);
    d_out *= static_cast<T>(1 / static_cast<double>(value.answers));
  }
  return value;
}

template LossValue Loss::evaluate(const tasks::Sample&,
                                  const attention::ConstTokens<float>&,
                                  attention::Tokens<float>) const;
template LossValue Loss::evaluate(const tasks::Sample&,
                                  const attention::ConstTokens<double>&,
                                  attention::Tokens<double>) const;

}  // namespace matapprox::training
