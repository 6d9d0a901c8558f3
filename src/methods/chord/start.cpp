#include "methods/chord/start.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "methods/chord/optimizers.hpp"

namespace matapprox::chord_fit {

// --------------------------------------------------------------------- Random and given starts

namespace {

/// Computes |x| of numbers given in sequence, as Eigen's stableNorm does: without overflow, in
/// blocks that begin with the first number, whatever its address.
class StableNorm {
 public:
  static constexpr Index kBlock = 4096;

  /// Adds `count` numbers: whole blocks, except in the last call.
  void add(const double* numbers, Index count) {
    for (Index first = 0; first < count; first += kBlock)
      add_block(Eigen::Map<const Vector>(numbers + first, std::min(kBlock, count - first)));
  }
  double value() const { return scale_ * std::sqrt(squares_); }

 private:
  void add_block(const Eigen::Map<const Vector>& block) {
    const double largest = block.cwiseAbs().maxCoeff();
    if (largest > scale_) {
      constexpr double kMax = std::numeric_limits<double>::max();
      squares_ *= scale_ / largest * (scale_ / largest);
      inverse_ = std::min(1 / largest, kMax);
      scale_ = 1 / largest > kMax ? 1 / kMax : largest;
    }
    if (scale_ > 0) squares_ += (block * inverse_).squaredNorm();
  }

  double scale_ = 0;
  double inverse_ = 1;  ///< 1 / scale_
  double squares_ = 0;  ///< sum of squares of the numbers over scale_
};

/// Returns the multipliers of factors with these norms; empty if one norm is zero.
std::vector<double> balancing(const std::vector<double>& norms, double scale) {
  if (std::ranges::find(norms, 0.0) != norms.end()) return {};
  // All norms become g, where g^M is `scale` times their product. The first multiplier is `scale`
  // over the others, so that rounding in g does not change the product.
  const Eigen::Map<const Vector> all(norms.data(), std::ssize(norms));
  const double log_g =
      (all.array().log().sum() + std::log(scale)) / static_cast<double>(all.size());
  std::vector<double> factors{scale};
  for (std::size_t m = 1; m < norms.size(); ++m) {
    factors.push_back(std::exp(log_g - std::log(norms[m])));
    factors.front() /= factors.back();
  }
  return factors;
}

Index numbers_of_factor(const ChordPattern& pattern, Index m) {
  return pattern.order * pattern.links(m);
}

}  // namespace

void balance(const ChordPattern& pattern, double scale, double* values) {
  std::vector<double> norms;
  for (Index m = 0; m < pattern.factors(); ++m) {
    StableNorm norm;
    norm.add(values + pattern.first_value(m), numbers_of_factor(pattern, m));
    norms.push_back(norm.value());
  }
  const std::vector<double> by = balancing(norms, scale);
  for (Index m = 0; m < std::ssize(by); ++m) {
    Eigen::Map<Vector>(values + pattern.first_value(m), numbers_of_factor(pattern, m)) *=
        by[static_cast<std::size_t>(m)];
  }
}

void balance(const ChordPattern& pattern, double scale, MultiVector& values) {
  constexpr Index kPiece = 64 * StableNorm::kBlock;
  const MemorySpace& space = *values.space();
  std::vector<double> norms;
  std::vector<double> piece(static_cast<std::size_t>(std::min(kPiece, pattern.stored_numbers())));
  for (Index m = 0; m < pattern.factors(); ++m) {
    StableNorm norm;
    const Index numbers = numbers_of_factor(pattern, m);
    for (Index first = 0; first < numbers; first += kPiece) {
      const Index count = std::min(kPiece, numbers - first);
      space.read_rows(
          values.rows(), values.data(), 1, pattern.first_value(m) + first, count, piece.data());
      norm.add(piece.data(), count);
    }
    norms.push_back(norm.value());
  }
  const std::vector<double> by = balancing(norms, scale);
  for (Index m = 0; m < std::ssize(by); ++m) {
    space.scale(values.data() + pattern.first_value(m),
                numbers_of_factor(pattern, m),
                by[static_cast<std::size_t>(m)]);
  }
}

Vector random_start(const ChordPattern& pattern, std::uint64_t seed, Index start) {
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index i = 0; i < pattern.order; ++i) {
      for (Index k = 0; k < K; ++k) {
        const double mean = K == 1 ? 1.0 : k == 0 ? 0.5 : 0.5 / static_cast<double>(K - 1);
        const double z = random_normal(
            seed, RandomStream::kChordStart, start * pattern.factors() + m, i * K + k);
        W[i * K + k] = mean + 0.1 * z;
      }
    }
  }
  return values;
}

Vector paper_start(const ChordPattern& pattern, std::uint64_t seed, Index start, double unit) {
  constexpr double kSpread = 0.01;
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index e = 0; e < pattern.order * K; ++e) {
      const double u =
          random_uniform(seed, RandomStream::kChordStart, start * pattern.factors() + m, e);
      W[e] = 1 / static_cast<double>(K) + kSpread * u;
    }
  }
  balance(pattern, 1 / unit, values.data());
  return values;
}

Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit) {
  require(given.pattern == pattern,
          "chord: the warm start has another pattern: {} factors of order {} with {} values; this "
          "fit has {} of order {} with {}",
          given.pattern.factors(),
          given.pattern.order,
          given.values.size(),
          pattern.factors(),
          pattern.order,
          pattern.stored_numbers());
  require(static_cast<Index>(given.values.size()) == pattern.stored_numbers(),
          "chord: the warm start has {} values, but its pattern has {}",
          given.values.size(),
          pattern.stored_numbers());
  Vector values = Eigen::Map<const Vector>(given.values.data(), pattern.stored_numbers());
  require(values.allFinite(), "chord: the warm start holds NaN or Inf");
  balance(pattern, 1 / unit, values.data());
  return values;
}

// ----------------------------------------------------------------------------- Circulant start

namespace {

using Complex = std::complex<double>;
using Symbols = Eigen::MatrixXcd;  // one row per frequency

constexpr Index kFrequencies = 2048;
constexpr Index kSteps = 600;
constexpr double kLargestStep = 0.05;
constexpr double kNoise = 0.05;
constexpr double kMinShare = 0.01;               // least fraction of |A|^2 in the mean diagonals
constexpr Index kRowsOfItsOwn = Index{1} << 40;  // first row of random numbers for this start

/// exp(2 pi i q / N) for q = 0..N-1.
std::vector<Complex> roots_of_unity(Index N) {
  std::vector<Complex> roots(static_cast<std::size_t>(N));
  for (Index q = 0; q < N; ++q) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(q) / static_cast<double>(N);
    roots[static_cast<std::size_t>(q)] = {std::cos(angle), std::sin(angle)};
  }
  return roots;
}

/// The symbols of a circulant target and of the links of the factors at some of the frequencies.
struct SymbolProblem {
  Eigen::VectorXcd target;
  std::vector<Symbols> links;  ///< for each factor: frequencies x links
};

SymbolProblem problem_at(const std::vector<Index>& frequencies,
                         const std::vector<Complex>& roots,
                         const ChordPattern& pattern,
                         const Vector& diagonals) {
  const auto N = static_cast<Index>(roots.size());
  const auto F = static_cast<Index>(frequencies.size());
  SymbolProblem problem{Eigen::VectorXcd(F), {}};
  for (const auto& offsets : pattern.offsets)
    problem.links.emplace_back(F, static_cast<Index>(offsets.size()));
  parallel_for(F, [&](Index f) {
    const Index q = frequencies[static_cast<std::size_t>(f)];
    Complex sum = 0;
    for (Index d = 0, at = 0; d < N; ++d) {
      sum += diagonals(d) * roots[static_cast<std::size_t>(at)];
      at += q;
      if (at >= N) at -= N;
    }
    problem.target(f) = sum;
    for (std::size_t m = 0; m < problem.links.size(); ++m) {
      for (std::size_t k = 0; k < pattern.offsets[m].size(); ++k) {
        problem.links[m](f, static_cast<Index>(k)) =
            roots[static_cast<std::size_t>(pattern.offsets[m][k] * q % N)];
      }
    }
  });
  return problem;
}

/// Returns the mean over the frequencies of |product of symbols - target|^2 and, unless null,
/// computes half of its gradient.
double evaluate(const SymbolProblem& problem,
                const Eigen::Ref<const Vector>& values,
                Vector* gradient) {
  const auto M = static_cast<Index>(problem.links.size());
  const Index F = problem.target.size();
  Symbols symbols(F, M);
  Symbols before(F, M + 1);  // column m: product of the symbols of the first m factors
  before.col(0).setOnes();
  for (Index m = 0, at = 0; m < M; ++m) {
    const Symbols& links = problem.links[static_cast<std::size_t>(m)];
    symbols.col(m) = links * values.segment(at, links.cols()).cast<Complex>();
    before.col(m + 1) = before.col(m).cwiseProduct(symbols.col(m));
    at += links.cols();
  }
  const Eigen::VectorXcd residual = before.col(M) - problem.target;
  const double scale = 1 / static_cast<double>(F);
  if (gradient == nullptr) return scale * residual.squaredNorm();
  Eigen::VectorXcd after = Eigen::VectorXcd::Ones(F);
  Index at = values.size();
  for (Index m = M - 1; m >= 0; --m) {
    const Symbols& links = problem.links[static_cast<std::size_t>(m)];
    at -= links.cols();
    const Eigen::VectorXcd outer =
        before.col(m).cwiseProduct(after).conjugate().cwiseProduct(residual);
    gradient->segment(at, links.cols()) = scale * (links.adjoint() * outer).real();
    after = after.cwiseProduct(symbols.col(m)).eval();
  }
  return scale * residual.squaredNorm();
}

struct Candidate {
  Vector values;  ///< one per link; empty if no start was found
  double residual = std::numeric_limits<double>::infinity();
};

/// Runs Adam from one link of each factor, whose product is the identity, with a little noise.
Candidate descend(const ChordPattern& pattern,
                  const SymbolProblem& problem,
                  const SymbolProblem& others,
                  const std::optional<std::vector<Index>>& identity,
                  std::uint64_t seed,
                  Index row,
                  const RunControl& control) {
  if (!identity) return {};
  FitState state;
  Index size = 0;
  for (const Symbols& links : problem.links) size += links.cols();
  state.point = MultiVector(host_space(), size, 1);
  Eigen::Map<Vector> point(state.point.data(), size);
  for (Index p = 0; p < size; ++p)
    point(p) = kNoise * random_normal(seed, RandomStream::kChordStart, row, p);
  for (Index m = 0, at = 0; m < pattern.factors(); ++m) {
    point(at + (*identity)[static_cast<std::size_t>(m)]) += 1;
    at += pattern.links(m);
  }
  start_adam(state);
  Vector gradient(size);
  while (state.adam_step < kSteps) {
    if (control.should_stop()) return {};
    const double f = evaluate(problem, point, &gradient);
    if (!std::isfinite(f) || !gradient.allFinite()) return {};
    adam_step(state, gradient.data(), kSteps, kLargestStep, Annealing::kSquaredCosine);
  }
  const double residual = evaluate(others, point, nullptr);
  if (!std::isfinite(residual)) return {};
  return {point, residual};
}

/// Repeats one row of values of each factor in all of its rows.
Vector spread(const ChordPattern& pattern, const Vector& tied) {
  Vector values(pattern.stored_numbers());
  for (Index m = 0, at = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    Eigen::Map<Matrix>(values.data() + pattern.first_value(m), K, pattern.order).colwise() =
        tied.segment(at, K);
    at += K;
  }
  return values;
}

/// Returns powers of two that add up to N, largest first: none above `largest`, and at least
/// `terms` of them if possible.
std::vector<Index> powers_adding_up_to(Index N, Index largest, Index terms) {
  std::vector<Index> powers;
  for (Index rest = N; rest > 0;) {
    const auto power =
        std::min(largest, static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(rest))));
    powers.push_back(power);
    rest -= power;
  }
  while (static_cast<Index>(powers.size()) < terms) {
    const auto smallest =
        std::find_if(powers.rbegin(), powers.rend(), [](Index power) { return power > 1; });
    if (smallest == powers.rend()) break;
    *smallest /= 2;
    powers.insert(smallest.base(), *smallest);
  }
  return powers;
}

/// Index of an offset among the links of a factor, if it is one of them.
std::optional<Index> link_of(const ChordPattern& pattern, std::size_t m, Index offset) {
  const auto& offsets = pattern.offsets[m];
  const auto found = std::find(offsets.begin(), offsets.end(), offset);
  if (found == offsets.end()) return std::nullopt;
  return found - offsets.begin();
}

Index largest_power(const ChordPattern& pattern) {
  Index largest = 0;
  for (const auto& offsets : pattern.offsets) {
    for (const Index offset : offsets) {
      if (offset > largest && std::has_single_bit(static_cast<std::uint64_t>(offset)))
        largest = offset;
    }
  }
  return largest;
}

/// Returns the link of offset 0 of each factor if links lead both ways; otherwise the identity is
/// not a good start.
std::optional<std::vector<Index>> stay(const ChordPattern& pattern) {
  std::vector<Index> links;
  bool forward = false;
  bool backward = false;
  for (std::size_t m = 0; m < pattern.offsets.size(); ++m) {
    const auto self = link_of(pattern, m, 0);
    if (!self) return std::nullopt;
    links.push_back(*self);
    forward = forward || link_of(pattern, m, 1);
    backward = backward || link_of(pattern, m, pattern.order - 1);
  }
  if (!forward || !backward) return std::nullopt;
  return links;
}

}  // namespace

Vector mean_diagonals(Index order, const std::vector<Index>& J, const TargetColumns& columns) {
  constexpr std::size_t kWidth = 16;
  Vector sums = Vector::Zero(order);
  std::vector<double> panel(static_cast<std::size_t>(order) * std::min(kWidth, J.size()));
  for (std::size_t first = 0; first < J.size(); first += kWidth) {
    const std::size_t count = std::min(kWidth, J.size() - first);
    columns(std::span(J).subspan(first, count), panel.data());
    for (std::size_t j = 0; j < count; ++j) {
      const Index c = J[first + j];
      for (Index i = 0; i < order; ++i) {
        const Index d = c >= i ? c - i : c - i + order;
        sums(d) += panel[static_cast<std::size_t>(i) * count + j];
      }
    }
  }
  return sums / static_cast<double>(J.size());
}

std::optional<std::vector<Index>> full_turn(const ChordPattern& pattern, Index terms) {
  const Index largest = largest_power(pattern);
  const auto factors = static_cast<std::size_t>(pattern.factors());
  if (largest == 0 || pattern.order / largest > pattern.factors()) return std::nullopt;
  const std::vector<Index> powers = powers_adding_up_to(pattern.order, largest, terms);
  if (powers.size() > factors) return std::nullopt;
  std::vector<Index> links(factors, -1);
  for (const Index power : powers) {
    std::size_t m = 0;
    while (m < factors && (links[m] >= 0 || !link_of(pattern, m, power))) ++m;
    if (m == factors) return std::nullopt;
    links[m] = *link_of(pattern, m, power);
  }
  for (std::size_t m = 0; m < factors; ++m) {
    if (links[m] >= 0) continue;
    const auto self = link_of(pattern, m, 0);
    if (!self) return std::nullopt;
    links[m] = *self;
  }
  return links;
}

std::optional<Vector> circulant_start(const ChordPattern& pattern,
                                      const Vector& diagonals,
                                      std::uint64_t seed,
                                      Index start,
                                      const RunControl& control) {
  if (diagonals.squaredNorm() < kMinShare) return std::nullopt;
  const std::vector<Complex> roots = roots_of_unity(pattern.order);
  const auto frequencies = [&](Index row) {
    std::vector<Index> q;
    for (Index f = 0; f < kFrequencies; ++f)
      q.push_back(random_index(seed, RandomStream::kChordColumns, row, f, pattern.order));
    return q;
  };
  const Index row = kRowsOfItsOwn + 64 * start;
  const SymbolProblem problem = problem_at(frequencies(row), roots, pattern, diagonals);
  const SymbolProblem others = problem_at(frequencies(row + 1), roots, pattern, diagonals);
  const Index turns = pattern.factors();
  std::vector<Candidate> candidates(static_cast<std::size_t>(turns + 1));
  parallel_for(turns + 1, [&](Index c) {
    const auto identity = c < turns ? full_turn(pattern, c + 1) : stay(pattern);
    candidates[static_cast<std::size_t>(c)] =
        descend(pattern, problem, others, identity, seed, row + c, control);
  });
  if (control.should_stop()) control.throw_if_stopped("chord");
  const auto best = std::min_element(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.residual < b.residual;
      });
  if (best->values.size() == 0 || best->residual >= diagonals.squaredNorm()) return std::nullopt;
  return spread(pattern, best->values);
}

}  // namespace matapprox::chord_fit
