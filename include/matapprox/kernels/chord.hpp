#pragma once

#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Positions of the entries of a chain of sparse N x N factors W_1 ... W_M: row i of factor m has
/// one value at column (i + offsets[m][k]) mod N for every k. [KYCY22, Sec. 3] Offsets are distinct
/// mod N within a factor; factors may have different offsets and different numbers of them.
struct ChordPattern {
  Index order = 0;                          ///< N
  std::vector<std::vector<Index>> offsets;  ///< per factor, each in 0..N-1

  Index factors() const { return static_cast<Index>(offsets.size()); }
  Index links(Index m) const {
    return static_cast<Index>(offsets[static_cast<std::size_t>(m)].size());
  }
  Index stored_numbers() const;      ///< N * sum of links
  Index first_value(Index m) const;  ///< position of factor m in the flat block of values
  /// Throws InvalidArgument, naming factor and offset, unless order >= 1, there is at least one
  /// factor, each factor has a link, and offsets are in 0..N-1 and distinct.
  void validate() const;
  bool operator==(const ChordPattern&) const = default;
};

/// ceil(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the pattern of the paper's
/// public code. Reaches every distance. n >= 1 (n = 1: one factor, one link).
ChordPattern chord_reference_pattern(Index n);
/// ceil(log2 n) factors with links 0, 2^0 .. 2^(K-2), K = ceil(log2 n): the pattern of the paper's
/// text. Differs from the reference only if n is a power of two: it then misses the distance n - 1.
ChordPattern chord_paper_pattern(Index n);
/// floor(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the pattern of the paper's
/// attention module. Misses distances unless n is a power of two (n = 2000: 4 of 2000).
ChordPattern chord_torch_pattern(Index n);
/// The links of the reference pattern with alternating signs: factor m, counted from 1, has +o for
/// odd m and -o mod n for even m. Storage and work are the same, and every distance is reached. A
/// small distance of either sign is reached by many paths, whereas links that all lead forward
/// reach -1 only by nearly all hops.
ChordPattern chord_alternating_pattern(Index n);
/// Replaces each link o of each even factor (the second, fourth, ...) by -o mod n.
void alternate_signs(ChordPattern& pattern);
/// A few wide factors with `links` links per row in total. If three factors suffice, they have
/// about equal widths k = links / 3 and strides 1, ceil(n / k), 1 (local, strided, local), or, if
/// these cannot reach every distance, strides in geometric progression; otherwise there are more or
/// fewer factors. Local links are centered on 0. Reaches every distance. Throws InvalidArgument if
/// no pattern with so few links does.
ChordPattern chord_mixed_radix_pattern(Index n, Index links);
/// Returns the distances (column - row) mod N that no product of one link per factor reaches,
/// ascending: these diagonals of the product are zero for any values. Cost O(N M K).
std::vector<Index> unreachable_distances(const ChordPattern& pattern);
/// The same as text for messages: the first three distances and their number; empty if there are
/// none.
std::string unreachable_text(const ChordPattern& pattern);

}  // namespace matapprox

namespace matapprox::kernels {

// Products and derivatives of a chain of Chord factors, for T = double and float. Internally,
// blocks are row-major panels of a few columns, so that a SIMD vector spans several columns; the
// public functions take column-major blocks. All results are bit-identical for any thread count.
// [KYCY22, Sec. 3]

/// A parameter from which T is not deduced, so that convertible arguments can be passed.
template <class T>
using Given = std::type_identity_t<T>;

/// Y = W_1 ... W_M X (transpose: W_M^T ... W_1^T X), N x b each; X and Y may not overlap. Cost: 2 b
/// flops per stored number. Throws InvalidArgument if the shapes do not agree.
template <class T>
void chord_apply(const ChordPattern& pattern,
                 const T* values,
                 const Given<ConstBlockOf<T>>& X,
                 Given<BlockOf<T>> Y);
template <class T>
void chord_apply_transpose(const ChordPattern& pattern,
                           const T* values,
                           const Given<ConstBlockOf<T>>& X,
                           Given<BlockOf<T>> Y);

/// Writes the target's columns at positions first .. first+count-1 of the list of columns (of all
/// columns if there is no list) into a row-major N x count panel. May be called from several
/// threads at once.
template <class T>
using TargetPanelOf = std::function<void(Index first, Index count, T* panel)>;
using TargetPanel = TargetPanelOf<double>;

/// The matrix Z of the objective, with P = W_1...W_M: P itself or (P + P^T) / 2.
enum class ChordForm { kProduct, kSymmetrized };

/// Returns f = 1/2 sum over columns c of |Z e_c - X e_c|^2 and sets its gradient (in the layout of
/// `values`) unless `gradient` is null. Works by column panels, whose sums are added in a fixed
/// order. A symmetrized Z requires a symmetric X: with the residual R = Z - X symmetric, the
/// derivative of f along dP is <R, dP>. Cost: 6 M N^2 K flops, 8 M N^2 K if symmetrized. Memory per
/// thread: (M + 1) N b numbers (one panel more if symmetrized), b = 32 doubles or 64 floats at
/// most; also a copy of the values, and up to eight gradients if they are small.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// The same for the given columns only: c runs over `columns`, each in 0..N-1, in any order; one
/// that is listed twice counts twice. Cost: 6 N M K flops per column, 8 N M K if symmetrized. For a
/// symmetrized Z the gradient is the part of <R, dP> in these columns: in expectation over columns
/// drawn at random, it is the gradient of all columns.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       std::span<const Index> columns,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// Sets `result` to J^T J v, the product of a Gauss-Newton step, where J is the Jacobian of
/// W_1...W_M (all N^2 entries) with respect to the values and v a direction in the layout of the
/// values. Cost: 8 M N^2 K flops; memory as for the objective.
template <class T>
void chord_gauss_newton_product(const ChordPattern& pattern,
                                const T* values,
                                const Given<T>* direction,
                                Given<T>* result);

}  // namespace matapprox::kernels
