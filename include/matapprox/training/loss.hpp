#pragma once

#include <array>

#include "matapprox/attention/tokens.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::training {

enum class LossKind { kAuto, kSquared, kCrossEntropy, kBinaryCrossEntropy };

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::LossKind> {
  static constexpr std::array<std::string_view, 4> values{
      "auto", "squared", "cross_entropy", "binary_cross_entropy"};
};

}  // namespace matapprox

namespace matapprox::training {

struct LossOptions {
  LossKind kind = LossKind::kAuto;  ///< squared for numbers, cross entropy for classes, binary
                                    ///< cross entropy for sets of labels
  double label_smoothing = 0;       ///< fraction of the answer spread over all classes
  void visit(OptionVisitor& v);
};

/// Loss and errors of a sample's outputs.
struct LossValue {
  double loss = 0;    ///< mean over the answers
  Index answers = 0;  ///< 1, the tokens that have a label, or the labels of a set
  Index errors = 0;   ///< wrong ones
};

/// Log-odds of class 1 against class 0, from a sample's outputs for two classes: o_1 - o_0.
template <class T>
double class_score(const attention::ConstTokens<T>& out) {
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
  /// Evaluates the outputs (rows x C) and sets d_out. Sums are in double. Throws InvalidArgument
  /// for a label outside 0..C-1, or labels of a set that are not C zeros and ones.
  template <class T>
  LossValue evaluate(const tasks::Sample& sample,
                     const attention::ConstTokens<T>& out,
                     attention::Tokens<T> d_out) const;

 private:
  template <class T>
  double class_loss(const T* out, Index label, T* d_out) const;
  template <class T>
  LossValue labels_loss(const tasks::Sample& sample, const T* out, T* d_out) const;

  LossKind kind_;
  double smoothing_;
  tasks::TaskShape task_;
};

}  // namespace matapprox::training
