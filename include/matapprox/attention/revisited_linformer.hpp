#pragma once

#include <array>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class RevisitedAxes { kRowStochastic, kAsPrinted };
enum class RevisitedProjection { kLearned, kJl };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::RevisitedAxes> {
  static constexpr std::array<std::string_view, 2> values{"row_stochastic", "as_printed"};
};
template <>
struct EnumNames<attention::RevisitedProjection> {
  static constexpr std::array<std::string_view, 2> values{"learned", "jl"};
};

}  // namespace matapprox

namespace matapprox::attention {

struct RevisitedLinformerOptions {
  Index rank = 64;  ///< k, rows of E and F
  RevisitedAxes axes = RevisitedAxes::kRowStochastic;
  RevisitedProjection projection = RevisitedProjection::kLearned;
  double delta = 0;  ///< for `jl`: E = delta R, F = exp(-delta) R; 0: 2^-length, as in the paper
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Revisited Linformer: H = softmax(Q / sqrt(p)) (softmax((E K)^T / sqrt(p)) (F V)), E and F k x N.
/// [Ver20, Sec. 3.2]
///
/// The order of the products gives 2 N p d + 2 N k d multiplications besides the projections (the
/// paper's count omits E K and F V). The paper does not state over which axis each softmax runs:
/// its D_A, the sums of columns, implies queries over tokens and keys over features (`as_printed`).
/// If queries are over features and keys over the k mixtures, E is row-stochastic except for F
/// (`row_stochastic`), and E = F = I then gives scaled efficient attention. E and F are learned
/// from N(0, 1/length), or both are multiples of one fixed R with entries N(0, 1/k), an untrained
/// parameter. With the paper's delta the scores vanish, and each row of E is the mean of the rows
/// of R. R^T R in place of the identity has the relative error sqrt(n / k). Padding is zeroed in K
/// and V before the projection. Causal: no.
template <class T>
std::unique_ptr<Attention<T>> revisited_linformer(ParameterList& list,
                                                  const std::string& prefix,
                                                  const AttentionShape& shape,
                                                  const RevisitedLinformerOptions& options = {});

}  // namespace matapprox::attention
