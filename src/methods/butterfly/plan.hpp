#pragma once

#include <tuple>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/factors/kronecker_sparse.hpp"
#include "matapprox/methods/butterfly.hpp"

namespace matapprox::butterflies {

/// One way to see A as a butterfly: the sizes of its stages, first to last, and its orders.
struct Arrangement {
  std::vector<Index> row_radices;
  std::vector<Index> col_radices;
  bool rows_reversed = false;
  bool cols_reversed = false;

  bool operator<(const Arrangement& other) const {
    return std::tie(row_radices, col_radices, rows_reversed, cols_reversed) <
           std::tie(other.row_radices, other.col_radices, other.rows_reversed, other.cols_reversed);
  }
};

/// Index i with the order of its digits reversed, if asked for: the place of row or column i of A
/// in the arranged matrix. The digits have these radices, the last one first.
Index place_of(Index i, bool reversed, const std::vector<Index>& radices);
/// Row or column of A at each place of the arranged matrix.
std::vector<Index> places_of(Index n, bool reversed, const std::vector<Index>& radices);

/// Before a stage, the rest is `parts` matrices of s G rows and `cols` columns each. Every G-th row
/// belongs to the same group. The stage splits the columns of each part and keeps `rank`
/// combinations of the rows of each group.
struct Stage {
  Index parts = 1;
  Index in_group = 1;  ///< s
  Index groups = 1;    ///< G
  Index splits = 1;
  Index rank = 1;
  Index cols = 1;  ///< columns of a part, before the stage

  Index numbers() const { return parts * in_group * groups * splits * rank; }
  Index rest() const { return parts * in_group * groups * cols; }
  KroneckerSparse::Pattern pattern() const { return {parts, in_group, splits * rank, groups}; }
};

/// The stages, and the rest after them, which is stored as it is: its splits and its rank are 1.
struct Plan {
  Index rank = 0;
  Arrangement arrangement;
  std::vector<Stage> stages;
  Stage rest;

  double numbers() const {
    Index sum = rest.rest();
    for (const Stage& stage : stages) sum += stage.numbers();
    return static_cast<double>(sum);
  }
  std::vector<KroneckerSparse::Pattern> patterns() const {
    std::vector<KroneckerSparse::Pattern> list;
    for (const Stage& stage : stages) list.push_back(stage.pattern());
    list.push_back({rest.parts, rest.in_group * rest.groups, rest.cols, 1});
    return list;
  }
};

/// All plans of a rank, by the number of divisors in the first split.
std::vector<Plan> plans_of(const LinearOperator& A, const ButterflyOptions& options, Index rank);

/// The ranks to compare, ascending; the given one alone, if it is not 0.
std::vector<Index> ranks_of(const LinearOperator& A, Index given);

/// A itself, without stages.
Plan whole_of(const LinearOperator& A);

// ------------------------------------------------------------------------------ Bits per value

/// For each factor, the part of |A|_F^2 that each column of its values carries: the vectors of a
/// stage have norm 1, and what they multiply gets smaller from one to the next.
using Energies = std::vector<Vector>;

struct Widths {
  std::vector<std::vector<int>> bits;  ///< a number for each column of each factor
  double bytes = 0;
  double squared_error = 0;  ///< relative, as expected for normal values
};

/// The fewest bytes whose expected rounding error, squared and relative, is at most
/// `squared_error`; 64 bits everywhere if none is.
Widths widths_within_error(const Plan& plan, const Energies& energies, double squared_error);

/// The least error within the bytes; the fewest bytes if it is that of rounding.
Widths widths_within_bytes(const Plan& plan, const Energies& energies, double bytes);

/// Relative error that is rounding: no bytes are spent on a smaller one.
inline constexpr double kExactError = 1e-14;

// ------------------------------------------------------------------------------------- Stages

struct Fit {
  std::vector<Factor> factors;
  Energies energies;
  double left_out = 0;  ///< squared, relative
};

/// The butterfly of a plan. Ends early, without factors, if the ranks leave out more than `most`.
Fit fitted(const Matrix& A,
           const Plan& plan,
           const std::vector<std::vector<int>>& bits,
           double most);

/// The same, in doubles.
Fit fitted_in_doubles(const Matrix& A, const Plan& plan, double most);

}  // namespace matapprox::butterflies
