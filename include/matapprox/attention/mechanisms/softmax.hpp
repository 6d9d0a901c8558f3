#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::attention {

struct SoftmaxOptions {
  bool residual_scores = false;  ///< add the scores of the layers below to those of this one
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Softmax attention, E = softmax_rows(Q K^T / sqrt(p)). [VSP+17, Eq. 1]
///
/// Each block of queries processes one block of keys after the other with a running maximum and
/// sum, and the backward pass recomputes the entries from the saved logarithms of the sums: O(N d)
/// memory, no N x N array. [RS21; DFE+22] A row whose keys are all masked gives 0. 2 d N^2 + 4 d^2
/// N multiplications; parameters 4 d^2 + 4 d. Causal: yes.
///
/// `residual_scores` makes it Realformer: S_l = Q_l K_l^T / sqrt(p) + S_{l-1}. [HRKA21] This
/// forms no N x N array either: queries and keys of all layers so far are side by side, N x 2 d
/// numbers per layer, with (l + 2) d N^2 + 4 d^2 N multiplications in layer l = 0, 1, ...
template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options = {});

struct BigBirdOptions {
  Index block = 64;         ///< tokens per block
  Index random_blocks = 3;  ///< per query block, besides its neighbors and the global ones
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// BigBird: softmax attention over blocks of keys. A block of queries attends to the block before
/// it, itself, the block after it, the first and the last block, and a few random others; the first
/// and the last block attend to all. [ZGD+20, Sec. 2 and App. D]
///
/// A block that is selected for two reasons counts once. The random blocks depend only on the seed,
/// the layer, the head and the block; at a length below `shape.length` those beyond its end are
/// omitted. At most 2 (5 + r) b d N multiplications without the two global rows, plus 4 d^2 N.
/// Causal: yes, each row then sees only the earlier tokens of these blocks.
template <class T>
std::unique_ptr<Attention<T>> bigbird(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const BigBirdOptions& options = {});

/// Returns softmax(Q K^T / sqrt(p)) by rows, for Q and K of N x p: an N x N matrix whose rows sum
/// to 1.
Matrix softmax_map(const Matrix& Q, const Matrix& K);

/// Errors of softmax attention with random projections of keys and values.
struct ProjectedSoftmaxErrors {
  Index k = 0;
  double product = 0;  ///< |P R^T R V - P V|_F / |P V|_F
  /// Root mean square of (P R^T R V - P V)_ic / (|p_i| |v_c|) over rows p_i of P and columns v_c of
  /// V: the quantity bounded by the Johnson-Lindenstrauss lemma.
  double pair = 0;
  /// For each delta: |softmax(Q (E K)^T / sqrt(p)) F V - P V|_F / |P V|_F with E = delta R,
  /// F = e^-delta R, the construction in the proofs of [WLK+20, Thm. 2] and [Ver20].
  std::vector<double> constructed;
};

/// Computes the errors for P = softmax_map(Q, K) and R of k x N with independent entries N(0, 1/k).
/// Q, K and V are N x p. Cost: N^2 p + 2 N k p multiplications and N^2 numbers of memory. Throws
/// InvalidArgument unless the shapes agree, k >= 1 and all deltas are finite.
ProjectedSoftmaxErrors projected_softmax_errors(const Matrix& Q,
                                                const Matrix& K,
                                                const Matrix& V,
                                                Index k,
                                                std::span<const double> deltas,
                                                std::uint64_t seed);

struct TokenwiseOptions {
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Baseline that mixes nothing: E = I, out = V W_O. A task that a model with it solves needs no
/// attention. Causal: yes.
template <class T>
std::unique_ptr<Attention<T>> tokenwise(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const TokenwiseOptions& options = {});

struct MeanOptions {
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Baseline that mixes evenly: each row of E is the mean over the tokens (over tokens 0..i if
/// causal). Queries and keys are not used.
template <class T>
std::unique_ptr<Attention<T>> mean(ParameterList& list,
                                   const std::string& prefix,
                                   const AttentionShape& shape,
                                   const MeanOptions& options = {});

}  // namespace matapprox::attention
