#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/attention/layers/tokens.hpp"
#include "matapprox/attention/options.hpp"
#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::training {

/// Loss and errors of a sample's outputs.
struct LossValue {
  double loss = 0;    ///< mean over the answers
  Index answers = 0;  ///< 1, the tokens that have a label, or the labels of a set
  Index errors = 0;   ///< wrong ones
};

/// Log-odds of class 1 against class 0, from a sample's outputs for two classes: o_1 - o_0.
template <class T>
double class_score(attention::In<T> out) {
  return static_cast<double>(out(0, 1)) - static_cast<double>(out(0, 0));
}

/// The loss of one sample and its gradient with respect to the outputs.
///   squared                (o - y)^2
///   cross_entropy          -sum_c q_c log softmax(o)_c, q = (1 - s) e_y + s / C
///   binary_cross_entropy   -sum_c [q_c log sigma(o_c) + (1 - q_c) log(1 - sigma(o_c))] / C
/// For a set of labels, q_c = (1 - s) y_c + s / 2 with y_c = 1 for the labels that the sample has.
/// An answer is wrong if |o - y| >= tolerance, or if the largest output (the first of equal ones)
/// is not that of the label. In a set, the answer for label c is wrong if o_c > 0 contradicts y_c.
class Loss {
 public:
  /// Throws InvalidArgument for a loss that does not fit the task.
  Loss(const LossOptions& options, const tasks::TaskShape& task);
  LossKind kind() const { return kind_; }  ///< never kAuto
  /// Evaluates the outputs (rows x C) and sets d_out. Sums are in double. Throws InvalidArgument
  /// for a label outside 0..C-1, or labels of a set that are not C zeros and ones.
  template <class T>
  LossValue evaluate(const tasks::Sample& sample,
                     attention::In<T> out,
                     attention::Out<T> d_out) const;

 private:
  template <class T>
  double class_loss(const T* out, Index label, T* d_out) const;
  template <class T>
  LossValue labels_loss(const tasks::Sample& sample, const T* out, T* d_out) const;

  LossKind kind_;
  double smoothing_;
  tasks::TaskShape task_;
};

/// The area under the receiver operating characteristic, the probability that a positive sample
/// scores above a negative one (equal scores count one half), and its 95 % interval [DDC88].
struct RocArea {
  double area = 0;
  double low = 0;
  double high = 0;
  Index positives = 0;
  Index negatives = 0;
};

/// Computes the area from n scores, where larger means more likely positive, and their 0/1 labels.
/// The interval assumes a normal distribution of the logit of the area, so that it stays within
/// 0..1, with the variance of DeLong. If no pair is in the wrong order, or all are, it is the exact
/// interval of a proportion with as many trials as there are samples of the rarer class. Uses
/// midranks [SX14]: n log n comparisons, 4 n numbers of memory. Throws InvalidArgument unless there
/// are samples of both classes, and for a score that is not finite.
RocArea roc_area(std::span<const double> scores, std::span<const std::uint8_t> positive);

/// Quality of predicted sets of labels. A label is assigned to a sample if its score is above 0.
struct LabelScores {
  double micro_f1 = 0;   ///< over all pairs of sample and label together
  double macro_f1 = 0;   ///< mean over the labels
  double macro_auc = 0;  ///< mean over the labels with an area; 0 if there is none
  /// One per label; empty if all samples have the label or none has.
  std::vector<std::optional<RocArea>> roc;
};

/// Computes F1 and areas from n x `labels` scores, row-major, and as many targets: 1 if a sample
/// has a label, else 0.
///   F1 = 2 TP / (2 TP + FP + FN), 0 if no sample has the label and none is assigned it
/// Cost: n log n comparisons per label. Throws InvalidArgument unless there are as many scores as
/// targets, full rows and at least one, and for a score that is not finite.
LabelScores label_scores(std::span<const double> scores,
                         std::span<const std::uint8_t> targets,
                         Index labels);

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::LossKind> {
  static constexpr std::array<std::string_view, 4> values{
      "auto", "squared", "cross_entropy", "binary_cross_entropy"};
};

}  // namespace matapprox
