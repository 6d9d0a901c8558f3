#include "matapprox/attention/training/scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/core/error.hpp"
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
                         attention::In<T> out,
                         attention::Out<T> d_out) const {
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

namespace {

constexpr double kNormalQuantile = 1.959963984540054;

/// Returns ranks from 1 in increasing order; equal values share the mean of their ranks.
std::vector<double> midranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] < values[b];
  });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double mean = 0.5 * static_cast<double>(first + last + 1);
    for (; first < last; ++first) ranks[order[first]] = mean;
  }
  return ranks;
}

/// Returns the variance of `values` about their mean, divided by one less than their number; 0 for
/// a single value.
double sample_variance(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / (n - 1);
}

/// Returns for each of `own` the share of the other class's samples below it, from the ranks among
/// `own` and among all.
std::vector<double> shares_below(const std::vector<double>& own,
                                 const std::vector<double>& ranks_among_all,
                                 std::size_t others) {
  const std::vector<double> ranks = midranks(own);
  std::vector<double> shares(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    shares[k] = (ranks_among_all[k] - ranks[k]) / static_cast<double>(others);
  }
  return shares;
}

void set_interval(double variance, RocArea& roc) {
  const double wrong = 1 - roc.area;
  if (variance > 0 && roc.area > 0 && wrong > 0) {
    const double logit = std::log(roc.area / wrong);
    const double half = kNormalQuantile * std::sqrt(variance) / (roc.area * wrong);
    roc.low = 1 / (1 + std::exp(half - logit));
    roc.high = 1 / (1 + std::exp(-half - logit));
    return;
  }
  // All pairs are in the same order: the bound after n trials without an exception, 0.025^(1/n).
  const auto rarer = static_cast<double>(std::min(roc.positives, roc.negatives));
  const double open = std::pow(0.025, 1 / rarer);
  roc.low = roc.area == 1 ? open : 0;
  roc.high = roc.area == 0 ? 1 - open : 1;
}

}  // namespace

RocArea roc_area(std::span<const double> scores, std::span<const std::uint8_t> positive) {
  require(scores.size() == positive.size(),
          "roc_area: {} scores and {} labels",
          scores.size(),
          positive.size());
  std::vector<double> with;
  std::vector<double> without;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    require(std::isfinite(scores[i]), "roc_area: score {} is not finite", i);
    (positive[i] != 0 ? with : without).push_back(scores[i]);
  }
  require(!with.empty() && !without.empty(),
          "roc_area: {} of {} samples are positive; both classes are required",
          with.size(),
          scores.size());
  std::vector<double> all = with;
  all.insert(all.end(), without.begin(), without.end());
  const std::vector<double> ranks = midranks(all);
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(with.size());
  const std::vector<double> of_with =
      shares_below(with, std::vector<double>(ranks.begin(), middle), without.size());
  const std::vector<double> of_without =
      shares_below(without, std::vector<double>(middle, ranks.end()), with.size());
  RocArea roc;
  roc.positives = std::ssize(with);
  roc.negatives = std::ssize(without);
  const auto m = static_cast<double>(with.size());
  const auto n = static_cast<double>(without.size());
  roc.area = std::clamp(std::accumulate(of_with.begin(), of_with.end(), 0.0) / m, 0.0, 1.0);
  set_interval(sample_variance(of_with) / m + sample_variance(of_without) / n, roc);
  return roc;
}

namespace {

/// Number of samples with a label that were given it (right) or not (missed), and of those without
/// it that were given it (wrong).
struct LabelCounts {
  Index right = 0;
  Index missed = 0;
  Index wrong = 0;

  double f1() const {
    const Index all = 2 * right + missed + wrong;
    return all == 0 ? 0 : 2 * static_cast<double>(right) / static_cast<double>(all);
  }
};

}  // namespace

LabelScores label_scores(std::span<const double> scores,
                         std::span<const std::uint8_t> targets,
                         Index labels) {
  require(labels >= 1 && !scores.empty() && std::ssize(scores) % labels == 0,
          "label_scores: {} scores do not form rows of {} labels",
          scores.size(),
          labels);
  require(scores.size() == targets.size(),
          "label_scores: {} scores and {} targets",
          scores.size(),
          targets.size());
  const auto width = static_cast<std::size_t>(labels);
  const std::size_t samples = scores.size() / width;
  LabelScores result;
  LabelCounts all;
  std::vector<double> column(samples);
  std::vector<std::uint8_t> has(samples);
  Index areas = 0;
  for (std::size_t c = 0; c < width; ++c) {
    LabelCounts counts;
    for (std::size_t i = 0; i < samples; ++i) {
      column[i] = scores[i * width + c];
      has[i] = targets[i * width + c];
      const bool given = column[i] > 0;
      if (has[i] != 0) ++(given ? counts.right : counts.missed);
      if (has[i] == 0 && given) ++counts.wrong;
    }
    all.right += counts.right;
    all.missed += counts.missed;
    all.wrong += counts.wrong;
    result.macro_f1 += counts.f1() / static_cast<double>(labels);
    const Index positives = counts.right + counts.missed;
    result.roc.emplace_back();
    if (positives == 0 || positives == std::ssize(has)) continue;
    result.roc.back() = roc_area(column, has);
    result.macro_auc += result.roc.back()->area;
    ++areas;
  }
  result.micro_f1 = all.f1();
  if (areas > 0) result.macro_auc /= static_cast<double>(areas);
  return result;
}

}  // namespace matapprox::training
