#include "matapprox/methods/wavelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "factors/coded_streams.hpp"
#include "factors/wavelet_coding.hpp"
#include "factors/wavelet_transform.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/wavelet_matrix.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

using wavelets::Axis;
using wavelets::Direction;
using wavelets::Integers;
using wavelets::Layout;

constexpr const char* kWavelet = "wavelet";
/// Bytes and errors are near enough to their limits from these parts on.
constexpr double kNearBytes = 0.997;
constexpr double kNearError = 0.985;
constexpr int kMaxRounds = 24;
/// Logarithms of two steps that are as good as equal.
constexpr double kNearSteps = 1e-4;
/// Number of entries above which rounds code a sample of the streams.
constexpr double kCodedEntries = 0x1p22;
/// Number of entries up to which all levels and none are both tried.
constexpr Index kSmallMatrix = Index{1} << 16;
/// Entries from which the first step is estimated, and blocks and their sides of an estimate.
constexpr Index kSampledEntries = Index{1} << 15;
constexpr Index kSampledBlocks = 3;
constexpr Index kBlockSide = 128;

// ---- Estimates

/// Evenly spaced entries, at a distance that has no divisor in common with the number of rows.
Vector sample_of(const Matrix& C) {
  Index every = std::max<Index>(C.size() / kSampledEntries, 1);
  while (std::gcd(every, C.rows()) > 1) ++every;
  Vector sample((C.size() + every - 1) / every);
  for (Index k = 0; k < sample.size(); ++k) sample(k) = C.data()[k * every];
  return sample;
}

// ---- Coefficients

void analyze(Matrix& C, const Layout& layout) {
  for (std::size_t l = 0; l + 1 < layout.heights.size(); ++l) {
    auto smooth = C.topLeftCorner(layout.heights[l], layout.widths[l]);
    wavelets::transform(smooth, Axis::kColumns, Direction::kAnalyze);
    wavelets::transform(smooth, Axis::kRows, Direction::kAnalyze);
  }
}

void synthesize(Matrix& C, const Layout& layout) {
  for (std::size_t l = layout.heights.size() - 1; l-- > 0;) {
    auto smooth = C.topLeftCorner(layout.heights[l], layout.widths[l]);
    wavelets::transform(smooth, Axis::kRows, Direction::kSynthesize);
    wavelets::transform(smooth, Axis::kColumns, Direction::kSynthesize);
  }
}

/// A times a power of two, and its wavelet coefficients.
struct Coefficients {
  Coefficients(const Matrix& A, double scale, Index levels, bool symmetric)
      : layout(A.rows(), A.cols(), levels, symmetric), values(scale * A) {
    analyze(values, layout);
    largest = values.cwiseAbs().maxCoeff();
  }
  /// The smallest step at which no coefficient has more than kMaxBits bits.
  double least_step() const { return largest / (std::ldexp(1.0, wavelets::kMaxBits) - 2); }

  Layout layout;
  Matrix values;
  double largest = 0;
};

struct Quantized {
  explicit Quantized(const Coefficients& C) : values(C.values.rows(), C.values.cols()) {}
  Integers values;
  std::array<std::int8_t, 3> shifts{};
  Index nonzeros = 0;
  double squared_error = 0;  ///< sum over all coefficients, in squared steps
};

/// Rounds coefficients; of a symmetric matrix, those on and below the diagonal, whose mirror images
/// may differ by rounding.
void quantize(const Coefficients& C, double step, Quantized& q) {
  struct Sums {
    std::array<double, 3> excess{};  ///< sums of sizes in steps less the multiples
    std::array<double, 3> squares{};
    std::array<Index, 3> count{};
    double dropped = 0;  ///< sum of squares of what is rounded to zero
  };
  const double per_step = 1 / step;
  const bool symmetric = C.layout.symmetric;
  std::vector<Sums> of_columns(static_cast<std::size_t>(C.values.cols()));
  parallel_for(C.values.cols(), [&](Index j) {
    Sums& sums = of_columns[static_cast<std::size_t>(j)];
    for (Index i = symmetric ? j : 0; i < C.values.rows(); ++i) {
      const double weight = symmetric && i > j ? 2 : 1;
      const double size = std::abs(C.values(i, j)) * per_step;
      const auto multiple = static_cast<std::int32_t>(size + wavelets::kRoundedUp);
      q.values(i, j) = C.values(i, j) < 0 ? -multiple : multiple;
      if (multiple == 0) {
        sums.dropped += weight * size * size;
        continue;
      }
      const auto kind = static_cast<std::size_t>(std::min(multiple, 3) - 1);
      sums.excess[kind] += weight * (size - multiple);
      sums.squares[kind] += weight * (size - multiple) * (size - multiple);
      sums.count[kind] += symmetric && i > j ? 2 : 1;
    }
  });
  if (symmetric) {
    parallel_for(C.values.cols(), [&](Index j) {
      for (Index i = 0; i < j; ++i) q.values(i, j) = q.values(j, i);
    });
  }
  Sums all;
  for (const Sums& sums : of_columns) {
    all.dropped += sums.dropped;
    for (std::size_t k = 0; k < 3; ++k) {
      all.excess[k] += sums.excess[k];
      all.squares[k] += sums.squares[k];
      all.count[k] += sums.count[k];
    }
  }
  q.nonzeros = 0;
  q.squared_error = all.dropped;
  for (std::size_t k = 0; k < 3; ++k) {
    const double mean = all.count[k] == 0 ? 0 : all.excess[k] / static_cast<double>(all.count[k]);
    q.shifts[k] = static_cast<std::int8_t>(std::clamp(std::round(256 * mean), -127.0, 127.0));
    q.nonzeros += all.count[k];
    // The sum of (x - shift)^2.
    const double shift = q.shifts[k] / 256.0;
    q.squared_error += all.squares[k] - 2 * shift * all.excess[k] +
                       shift * shift * static_cast<double>(all.count[k]);
  }
}

/// |C - q|_F relative to |A|_F, both scaled, after synthesis.
double error_of(
    const Matrix& A, double scale, const Layout& layout, const Quantized& q, double step) {
  Matrix B(A.rows(), A.cols());
  parallel_for(B.cols(), [&](Index j) {
    for (Index i = 0; i < B.rows(); ++i)
      B(i, j) = step * wavelets::value_in_steps(q.values(i, j), q.shifts);
  });
  synthesize(B, layout);
  Vector errors(B.cols());
  Vector squares(B.cols());
  parallel_for(B.cols(), [&](Index j) {
    errors(j) = (scale * A.col(j) - B.col(j)).squaredNorm();
    squares(j) = (scale * A.col(j)).squaredNorm();
  });
  return std::sqrt(errors.sum() / squares.sum());
}

// ---- Coding

struct Coded {
  double log_step = 0;
  std::array<std::int8_t, 3> shifts{};
  Index nonzeros = 0;
  double squared_error = 0;  ///< sum over all coefficients
  std::vector<Index> lengths;
  std::vector<std::uint8_t> data;
  double bytes() const { return static_cast<double>(kLengthBytes * lengths.size() + data.size()); }
};

Coded coded(const Layout& layout, const Quantized& q, double log_step) {
  std::vector<std::vector<std::uint8_t>> streams(layout.streams.size());
  parallel_for(static_cast<Index>(streams.size()), [&](Index k) {
    const auto stream = static_cast<std::size_t>(k);
    streams[stream] = wavelets::encode_stream(layout, stream, q.values);
  });
  Coded result{log_step, q.shifts, q.nonzeros, q.squared_error * std::exp2(2 * log_step), {}, {}};
  for (const auto& stream : streams) {
    result.lengths.push_back(static_cast<Index>(stream.size()));
    result.data.insert(result.data.end(), stream.begin(), stream.end());
  }
  return result;
}

/// Bytes of all streams, from a sample of those of each step of the layout.
double sampled_bytes(const Layout& layout, const Quantized& q) {
  const double entries = static_cast<double>(layout.rows) * static_cast<double>(layout.cols);
  const auto every = static_cast<std::size_t>(std::ceil(entries / kCodedEntries));
  std::vector<std::pair<std::size_t, double>> chosen;  // streams and their weights
  std::size_t first = 0;
  for (const std::size_t end : layout.step_ends) {
    const std::size_t count = (end - first + every - 1) / every;
    // Streams in the middle of equal parts are taken.
    for (std::size_t k = 0; k < count; ++k) {
      chosen.emplace_back(first + (2 * k + 1) * (end - first) / (2 * count),
                          static_cast<double>(end - first) / static_cast<double>(count));
    }
    first = end;
  }
  Vector bytes(static_cast<Index>(chosen.size()));
  parallel_for(bytes.size(), [&](Index k) {
    const auto& [stream, weight] = chosen[static_cast<std::size_t>(k)];
    bytes(k) =
        weight * static_cast<double>(wavelets::encode_stream(layout, stream, q.values).size());
  });
  return bytes.sum() + static_cast<double>(kLengthBytes * layout.streams.size());
}

/// Narrows an interval of logarithms of steps to where a figure that rises or falls with the step
/// crosses its limit. `excess` is the logarithm of the figure over its limit; `per_step` its
/// expected change for a step twice as large.
class StepSearch {
 public:
  StepSearch(double least, double first) : least_(least), log_(first) {}
  double log_step() const { return log_; }
  /// Takes the next step; false if it would hardly differ.
  bool next(double excess, double per_step) {
    const bool too_small = excess * per_step < 0;
    (too_small ? low_ : high_) = Tried{log_, excess};
    double to = log_ - excess / per_step;
    if (low_ && high_) {
      // The figure may jump: every third step halves the interval.
      const double line = low_->excess / (low_->excess - high_->excess);
      const double part = ++divisions_ % 3 == 0 ? 0.5 : std::clamp(line, 0.05, 0.95);
      to = low_->log + part * (high_->log - low_->log);
    } else {
      to = std::clamp(to, log_ - 4, log_ + 4);
      if (std::abs(to - log_) < 0.01) to = log_ + (too_small ? 0.01 : -0.01);
    }
    if (to <= least_) to = log_ <= least_ ? log_ : least_;
    const bool differs = std::abs(to - log_) > kNearSteps;
    log_ = to;
    return differs;
  }

 private:
  struct Tried {
    double log = 0;
    double excess = 0;
  };
  double least_;
  double log_;
  int divisions_ = 0;
  std::optional<Tried> low_;
  std::optional<Tried> high_;
};

/// The least error of a step whose coefficients fit into the bytes, of those that are tried.
Coded within_bytes(const Coefficients& C, Quantized& q, double limit) {
  const auto entries = static_cast<double>(C.values.size());
  const double coded_entries = C.layout.symmetric ? 0.5 * entries : entries;
  const Vector sample = sample_of(C.values);
  const double least = std::log2(C.least_step());
  double first = std::log2(C.largest);
  if (!sample.isZero(0)) {
    const double bits = 8 * limit / coded_entries * static_cast<double>(sample.size());
    first = std::max(std::log2(wavelets::SizeHistogram(sample).step_for_bits(bits)), least);
  }
  const double aim = std::max(0.5 * (1 + kNearBytes) * limit, limit - 1);
  // A step twice as large saves about a bit for each coefficient that is not zero.
  const auto change = [&](double bytes) {
    const double saved = static_cast<double>(q.nonzeros) / 8 * coded_entries / entries;
    return -std::clamp(saved / bytes, 0.05, 2.0);
  };
  if (entries > kCodedEntries) {
    StepSearch search(least, first);
    for (int round = 0; round < kMaxRounds; ++round) {
      quantize(C, std::exp2(search.log_step()), q);
      const double bytes = sampled_bytes(C.layout, q);
      first = search.log_step();
      if (bytes <= limit && bytes >= kNearBytes * limit) break;
      if (!search.next(std::log(bytes / aim), change(bytes))) break;
    }
  }
  std::optional<Coded> best;
  StepSearch search(least, first);
  for (int round = 0; round < kMaxRounds; ++round) {
    quantize(C, std::exp2(search.log_step()), q);
    Coded found = coded(C.layout, q, search.log_step());
    const double bytes = found.bytes();
    const double per_step = change(bytes);
    const bool is_zero = found.nonzeros == 0;
    if (is_zero && bytes > limit) break;
    const bool near = bytes <= limit && bytes >= std::min(kNearBytes * limit, limit - 2);
    if (bytes <= limit && !is_zero && (!best || found.squared_error < best->squared_error))
      best = std::move(found);
    if ((near && !is_zero) || !search.next(std::log(bytes / aim), per_step)) break;
  }
  if (!best) {
    throw BudgetTooSmall(
        fmt::format("{}: no coefficient of the matrix fits into {:.0f} bytes", kWavelet, limit));
  }
  return std::move(*best);
}

/// The largest step with that error; the smallest one if none reaches it.
Coded within_error(
    const Matrix& A, double scale, const Coefficients& C, Quantized& q, double tolerance) {
  const double least = std::log2(C.least_step());
  const auto entries = static_cast<double>(A.size());
  const double noise = tolerance * (scale * A).norm() / std::sqrt(entries);
  StepSearch search(least, std::max(std::log2(std::sqrt(12.0) * noise), least));
  std::optional<double> best;
  for (int round = 0; round < kMaxRounds; ++round) {
    const double step = std::exp2(search.log_step());
    quantize(C, step, q);
    const double error = error_of(A, scale, C.layout, q, step);
    if (error <= tolerance && (!best || search.log_step() > *best)) best = search.log_step();
    if (error <= tolerance && error >= kNearError * tolerance) break;
    const double aim = 0.5 * (1 + kNearError) * tolerance;
    if (!search.next(std::log(std::max(error, 1e-3 * tolerance) / aim), std::log(2.0))) break;
  }
  const double log_step = best.value_or(least);
  quantize(C, std::exp2(log_step), q);
  return coded(C.layout, q, log_step);
}

/// Number of levels that is expected to be better: all, or none.
Index chosen_levels(
    const Matrix& A, double scale, bool symmetric, double bits_per_entry, double tolerance) {
  const Index most = wavelets::max_levels(A.rows(), A.cols());
  if (most == 0) return 0;
  const Vector with = sample_of(Coefficients(A, scale, most, symmetric).values);
  const Vector without = scale * sample_of(A);
  if (with.isZero(0) || without.isZero(0)) return most;
  if (tolerance > 0) {
    const double step =
        tolerance * without.norm() * std::sqrt(12.0 / static_cast<double>(without.size()));
    const double bits = wavelets::SizeHistogram(with).rate(step).bits;
    return bits <= wavelets::SizeHistogram(without).rate(step).bits ? most : 0;
  }
  const auto error = [&](const Vector& sample) {
    const wavelets::SizeHistogram sizes(sample);
    const double bits = bits_per_entry * static_cast<double>(sample.size());
    return sizes.rate(sizes.step_for_bits(bits)).squared_error;
  };
  return error(with) <= error(without) ? most : 0;
}

/// The matrix to approximate and the wanted size or error.
struct Fitting {
  const Matrix& entries;
  double scale;
  bool symmetric;
  double tolerance;
  double limit;  ///< bytes, without a tolerance
};

struct CodedFit {
  Coded coded;
  Index levels = 0;
  bool reached = false;  ///< the tolerance, if there is one
};

CodedFit coded_fit(const Fitting& wanted, Index levels) {
  const Coefficients C(wanted.entries, wanted.scale, levels, wanted.symmetric);
  Quantized q(C);
  if (C.largest == 0) {
    q.values.setZero();
    return {coded(C.layout, q, 0), levels, wanted.tolerance > 0};
  }
  if (wanted.tolerance == 0) return {within_bytes(C, q, wanted.limit), levels, false};
  CodedFit fit{within_error(wanted.entries, wanted.scale, C, q, wanted.tolerance), levels, false};
  const double step = std::exp2(fit.coded.log_step);
  fit.reached = error_of(wanted.entries, wanted.scale, C.layout, q, step) <= wanted.tolerance;
  return fit;
}

bool is_better(const CodedFit& one, const CodedFit& other, double tolerance) {
  if (one.reached != other.reached) return one.reached;
  return tolerance > 0 ? one.coded.bytes() < other.coded.bytes()
                       : one.coded.squared_error < other.coded.squared_error;
}

/// The better one of all levels and none. Only that which is expected to be better is tried if the
/// matrix is large and it succeeds.
CodedFit best_coded_fit(const Fitting& wanted) {
  const Index most = wavelets::max_levels(wanted.entries.rows(), wanted.entries.cols());
  const double bits =
      8 * wanted.limit * (wanted.symmetric ? 2 : 1) / static_cast<double>(wanted.entries.size());
  const Index expected =
      chosen_levels(wanted.entries, wanted.scale, wanted.symmetric, bits, wanted.tolerance);
  std::optional<CodedFit> best;
  std::exception_ptr problem;
  for (const Index levels : {expected, most - expected}) {
    const bool enough =
        wanted.entries.size() > kSmallMatrix && best && (best->reached || wanted.tolerance == 0);
    if (enough || (best && most == 0)) break;
    try {
      CodedFit fit = coded_fit(wanted, levels);
      if (!best || is_better(fit, *best, wanted.tolerance)) best = std::move(fit);
    } catch (const BudgetTooSmall&) {
      problem = std::current_exception();
    }
  }
  if (!best) std::rethrow_exception(problem);
  return std::move(*best);
}

}  // namespace

void WaveletOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit("levels", levels, "number of levels of wavelets; -1: all that the sides admit, or none");
}

Approximation wavelet(const LinearOperator& A,
                      const WaveletOptions& options,
                      const RunControl& control) {
  require_not_empty(A, kWavelet);
  const double tolerance = options.frobenius_tolerance;
  require_tolerance(tolerance, kWavelet);
  const Index most = wavelets::max_levels(A.rows(), A.cols());
  require(options.levels >= -1 && options.levels <= most,
          "{}: {} levels are outside -1..{}",
          kWavelet,
          options.levels,
          most);
  const StopScope scope(control, kWavelet);
  const HeldEntries held(A, kWavelet, control);
  const Matrix& entries = held.values();
  require_memory((tolerance > 0 ? 20.0 : 12.0) * static_cast<double>(entries.size()),
                 fmt::format("{}: the coefficients", kWavelet));
  Fitting fitting{entries, unit_scale(entries), is_symmetric(A), tolerance, 0};
  fitting.limit = options.budget.is_set()
                      ? options.budget.bytes(A.rows(), A.cols())
                      : default_budget(A.rows(), A.cols()).bytes(A.rows(), A.cols());
  CodedFit fit = options.levels >= 0 ? coded_fit(fitting, options.levels) : best_coded_fit(fitting);

  Summary summary;
  summary.method = kWavelet;
  summary.options = list_options(options);
  if (fit.reached) summary.termination = Termination::kTargetReached;
  if (tolerance > 0 && !fit.reached) {
    summary.message = fmt::format("the tolerance is not reached: coefficients have at most {} bits",
                                  wavelets::kMaxBits);
  }
  const double takes = fit.coded.bytes();
  if (options.budget.is_set() && takes > fitting.limit) {
    throw BudgetTooSmall(
        fmt::format("{}: {} takes {:.0f} bytes, more than the budget of {}",
                    kWavelet,
                    fit.coded.nonzeros == 0 ? "zero" : fmt::format("an error of {:g}", tolerance),
                    takes,
                    options.budget.text()),
        takes);
  }
  summary.form = fmt::format("{} levels{}", fit.levels, fitting.symmetric ? ", symmetric" : "");
  WaveletMatrix B({A.rows(),
                   A.cols(),
                   fitting.symmetric,
                   fit.levels,
                   std::exp2(fit.coded.log_step) / fitting.scale,
                   fit.coded.shifts,
                   fit.coded.nonzeros,
                   std::move(fit.coded.lengths),
                   std::move(fit.coded.data)});
  return {{make_factor("B", std::move(B))}, std::move(summary)};
}

double wavelet_error_estimate(const LinearOperator& A, double bytes) {
  const HeldEntries held(A, kWavelet, {});
  const Matrix& entries = held.values();
  const auto starts = [](Index side) {
    std::vector<Index> list;
    if (side <= kSampledBlocks * kBlockSide) return std::vector<Index>{0};
    for (Index k = 0; k < kSampledBlocks; ++k) {
      list.push_back((2 * k + 1) * side / (2 * kSampledBlocks) - kBlockSide / 2);
    }
    return list;
  };
  const auto length = [](Index side) {
    return side <= kSampledBlocks * kBlockSide ? side : kBlockSide;
  };
  const Index height = length(A.rows());
  const Index width = length(A.cols());
  std::vector<double> with;
  std::vector<double> without;
  const double scale = unit_scale(entries);
  for (const Index col : starts(A.cols())) {
    for (const Index row : starts(A.rows())) {
      throw_if_stop_requested();
      const Matrix block = scale * entries.block(row, col, height, width);
      without.insert(without.end(), block.data(), block.data() + block.size());
      const Coefficients C(block, 1, wavelets::max_levels(height, width), false);
      with.insert(with.end(), C.values.data(), C.values.data() + C.values.size());
    }
  }
  const double half = is_symmetric(A) ? 0.5 : 1;
  const double bits =
      8 * bytes * static_cast<double>(with.size()) / (half * static_cast<double>(entries.size()));
  // Rounding errors are alike everywhere; the norm may come from a few entries outside the blocks.
  const double norm = scaled_norm(scale, entries);
  const double blocks = static_cast<double>(entries.size()) / static_cast<double>(with.size());
  double error = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& list : {with, without}) {
    const Eigen::Map<const Vector> sample(list.data(), static_cast<Index>(list.size()));
    if (sample.isZero(0)) continue;
    const wavelets::SizeHistogram sizes(sample);
    const double lost = sizes.rate(sizes.step_for_bits(bits)).squared_error;
    error = std::min(error, std::sqrt(blocks * lost) / norm);
  }
  return error;
}

}  // namespace matapprox
