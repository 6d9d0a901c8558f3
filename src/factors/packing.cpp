#include "matapprox/factors/packing.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <span>

#include "factors/low_rank.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {
namespace {

const std::vector<int> kPackedWidths{3, 4, 6, 8, 12, 16, 32, 64};
/// Bytes of a scale and a width for each column of U and V, or of U and an entry of L.
constexpr double kBytesOfTriplet = 2 * (4 + 1);
constexpr double kBytesOfEigenpair = 4 + 1 + 8;

ComponentBits components_of(Index rows, Index cols, bool symmetric) {
  return symmetric ? ComponentBits(rows, 0, kBytesOfEigenpair, kPackedWidths)
                   : ComponentBits(rows, cols, kBytesOfTriplet, kPackedWidths);
}

std::vector<std::uint8_t> as_bytes(std::span<const int> bits) { return {bits.begin(), bits.end()}; }

Matrix unpacked(const PackedMatrix& P) { return P.columns(index_range(0, P.cols())); }

/// Packs U, and the V for which |B - U V^T|_F is least, B being the product of the triplets.
std::vector<Factor> packed_triplets(const LowRankTriplets& triplets, std::span<const int> bits) {
  const auto rank = static_cast<Index>(bits.size());
  PackedMatrix U = PackedMatrix::rounded(triplets.U.leftCols(rank), as_bytes(bits));
  const Matrix rounded = unpacked(U);
  const Matrix gram = kernels::transpose_product(rounded, rounded);
  const Matrix across =
      triplets.values.asDiagonal() * kernels::transpose_product(triplets.U, rounded);
  const Matrix solved = gram.ldlt().solve(across.transpose()).transpose();
  const Matrix V = kernels::product(triplets.V, solved);
  return {make_factor("U", std::move(U)),
          make_factor("V", PackedMatrix::rounded(V, as_bytes(bits)), true)};
}

/// Packs U, and computes the L for which |B - U L U^T|_F is least: (G o G) l = diag(U^T B U), G =
/// U^T U.
std::vector<Factor> packed_eigenpairs(const LowRankEigen& pairs, std::span<const int> bits) {
  const auto rank = static_cast<Index>(bits.size());
  PackedMatrix U = PackedMatrix::rounded(pairs.U.leftCols(rank), as_bytes(bits));
  const Matrix rounded = unpacked(U);
  const Matrix gram = kernels::transpose_product(rounded, rounded);
  const Matrix across = kernels::transpose_product(pairs.U, rounded);
  const Vector wanted = across.cwiseAbs2().transpose() * pairs.values;
  const Matrix squares = gram.cwiseAbs2();
  const Factor first = make_factor("U", std::move(U));
  return {first,
          make_factor("L", Vector(squares.ldlt().solve(wanted))),
          {first.name, first.value, true}};
}

/// A power of 2 near the largest of these values; in this unit, squares are in the range of
/// doubles.
double unit_of(const Vector& values) {
  int exponent = 0;
  std::frexp(values.size() == 0 ? 0.0 : values.cwiseAbs().maxCoeff(), &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, -1022));
}

ComponentBits::Choice chosen(const ComponentBits& components,
                             const Vector& values,
                             const PackingLimit& limit) {
  const double unit = unit_of(values);
  const Vector squares = (values / unit).cwiseAbs2();
  const double error = limit.error / unit;
  ComponentBits::Choice choice;
  if (limit.error > 0) choice = components.within_error(squares, error * error);
  if (limit.error <= 0 || choice.bytes > limit.bytes) {
    choice = components.within_bytes(squares, limit.bytes);
  }
  choice.bits.resize(static_cast<std::size_t>(choice.kept));
  return choice;
}

/// The squares of `leading`, followed by squares of the size of the last one until all sum up to
/// `energy`, at most `side` in all.
Vector with_largest_rest(const Vector& leading, double energy, Index side) {
  const Vector known = leading.cwiseAbs2();
  const double least = known(known.size() - 1);
  double rest = std::max(energy - known.sum(), 0.0);
  Vector all = Vector::Zero(std::max(side, known.size()));
  all.head(known.size()) = known;
  for (Index k = known.size(); k < side && least > 0; ++k) {
    all(k) = std::min(rest, least);
    rest -= all(k);
  }
  return all;
}

}  // namespace

PackingError packing_error(const Vector& leading,
                           double frobenius_norm,
                           Index rows,
                           Index cols,
                           bool symmetric,
                           double bytes) {
  if (!(frobenius_norm > 0) || leading.size() == 0 || leading(0) == 0) return {};
  const double unit = unit_of(leading);
  const double norm = frobenius_norm / unit;
  const Vector squares = with_largest_rest(leading / unit, norm * norm, std::min(rows, cols));
  const ComponentBits::Choice choice =
      components_of(rows, cols, symmetric).within_bytes(squares, bytes);
  // No choice costs less at the common price, so leftover bytes reduce the error by at most this.
  // They matter if one of many equal values does not fit.
  const double left = choice.price * (bytes - choice.bytes);
  return {std::sqrt(std::max(choice.squared_error, 0.0)) / norm,
          std::sqrt(std::max(choice.squared_error - left, 0.0)) / norm};
}

PackedProduct pack_low_rank(const FactorProduct& B, const PackingLimit& limit) {
  const FactorProduct here(host_factors(B.factors()), B.symmetrized(), B.precision());
  const std::vector<Factor>& factors = here.factors();
  require(factors.size() > 1 && std::holds_alternative<Matrix>(*factors.front().value) &&
              std::holds_alternative<Matrix>(*factors.back().value) && !B.symmetrized(),
          "packed: {} is not a product of low rank (those of truncated_svd and nystrom are)",
          B.description());
  require(limit.error > 0 || std::isfinite(limit.bytes),
          "packed: give a limit of bytes or of the error");
  const bool symmetric = B.known_facts().symmetric.value_or(false);
  const ComponentBits components = components_of(B.rows(), B.cols(), symmetric);
  if (components.least_bytes() > limit.bytes) {
    throw BudgetTooSmall(
        fmt::format("packed: a component takes at least {:.0f} bytes; the budget is {:.0f}",
                    components.least_bytes(),
                    limit.bytes),
        components.least_bytes());
  }
  PackedProduct packed;
  // Keeps at least one component, even if it is rounding error: a product needs factors.
  const auto bits_of = [&](const Vector& values) {
    ComponentBits::Choice choice = chosen(components, values, limit);
    if (choice.kept == 0) choice.bits = {kPackedWidths.front()};
    packed.available = values.size();
    packed.rank = static_cast<Index>(choice.bits.size());
    return choice.bits;
  };
  if (symmetric) {
    const LowRankEigen pairs = low_rank_eigen(here, B.rows());
    packed.factors = packed_eigenpairs(pairs, bits_of(pairs.values));
  } else {
    const LowRankTriplets triplets = low_rank_triplets(here);
    packed.factors = packed_triplets(triplets, bits_of(triplets.values));
  }
  return packed;
}

}  // namespace matapprox
