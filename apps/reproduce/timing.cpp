#include "reproduce/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "report/json.hpp"
#include "reproduce/paper_tables.hpp"

namespace matapprox {
namespace reproduction {
namespace {

constexpr Index kGemmOrder = 1024;
constexpr double kMinSeconds = 0.02;  // minimum of one timing; short kernels are called several
                                      // times

/// A kernel, ready to be called, and the times of its calls.
struct Candidate {
  TimedKernel kernel;
  std::function<void()> call;
  Index calls = 1;  ///< per timing
  std::vector<double> seconds;
};

double seconds_of(const Candidate& candidate) {
  set_threads(candidate.kernel.threads);
  const auto start = std::chrono::steady_clock::now();
  for (Index i = 0; i < candidate.calls; ++i) candidate.call();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(candidate.calls);
}

/// Data of the kernels of one order.
struct ChainData {
  ChordFactors chain;
  Matrix target;  // column i is row i of the target
  Matrix X;
  Matrix Y;
  Matrix peer_Y;
  Vector gradient;
};

std::shared_ptr<ChainData> chain_data(Index n) {
  auto data = std::make_shared<ChainData>();
  data->chain.pattern = chord_reference_pattern(n);
  const Index count = data->chain.pattern.stored_numbers();
  const Matrix values = random_normal_matrix(1, RandomStream::kMeasure, count, 1);
  // Scaled so that products keep the magnitude of the block.
  const double scale = 1 / std::sqrt(static_cast<double>(data->chain.pattern.links(0)));
  data->chain.values.resize(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i)
    data->chain.values[static_cast<std::size_t>(i)] = scale * values(i, 0);
  data->target = random_normal_matrix(2, RandomStream::kMeasure, n, n);
  data->X = random_normal_matrix(3, RandomStream::kMeasure, n, 64);
  data->Y = Matrix::Zero(n, 64);
  data->gradient = Vector::Zero(count);
  return data;
}

void call_product(ChainData& data, Index columns) {
  kernels::chord_apply(data.chain.pattern,
                       data.chain.values.data(),
                       data.X.leftCols(columns),
                       data.Y.leftCols(columns));
}

/// The same chain as Eigen's sparse matrices with 4-byte indices, the usual alternative.
using EigenFactor = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>;

std::vector<EigenFactor> eigen_factors(const ChordFactors& chain) {
  const Index n = chain.pattern.order;
  std::vector<EigenFactor> factors;
  for (Index m = 0; m < chain.pattern.factors(); ++m) {
    const auto& offsets = chain.pattern.offsets[static_cast<std::size_t>(m)];
    const double* values = chain.values.data() + chain.pattern.first_value(m);
    std::vector<Eigen::Triplet<double, std::int32_t>> entries;
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : offsets) {
        entries.emplace_back(
            static_cast<std::int32_t>(i), static_cast<std::int32_t>((i + offset) % n), *values++);
      }
    }
    EigenFactor& factor = factors.emplace_back(n, n);
    factor.setFromTriplets(entries.begin(), entries.end());
  }
  return factors;
}

void call_eigen_product(const std::vector<EigenFactor>& factors, const ConstBlock& X, Matrix& Y) {
  Y = X;
  for (std::size_t m = factors.size(); m > 0; --m) {
    const Matrix next = factors[m - 1] * Y;
    Y = next;
  }
}

void call_objective(ChainData& data) {
  const Index n = data.target.rows();
  const kernels::TargetPanel panel = [&](Index first, Index count, double* values) {
    for (Index i = 0; i < n; ++i)
      std::copy_n(data.target.data() + i * n + first, count, values + i * count);
  };
  kernels::chord_objective(
      data.chain.pattern, data.chain.values.data(), panel, data.gradient.data());
}

Candidate candidate(const TimedKernel& kernel, std::function<void()> call) {
  return {kernel, std::move(call), 1, {}};
}

void add_chain(std::vector<Candidate>& candidates, Index n, int threads) {
  const auto data = chain_data(n);
  const auto peer = std::make_shared<const std::vector<EigenFactor>>(eigen_factors(data->chain));
  const auto numbers = static_cast<double>(data->chain.values.size());
  for (const Index columns : {Index{1}, Index{64}}) {
    TimedKernel kernel{"chain times block", n, columns, threads};
    kernel.flops = 2 * numbers * static_cast<double>(columns);
    candidates.push_back(candidate(kernel, [data, columns] { call_product(*data, columns); }));
    if (threads > 1) continue;
    kernel.name = "the same, Eigen CSR";
    candidates.push_back(candidate(kernel, [data, peer, columns] {
      call_eigen_product(*peer, data->X.leftCols(columns), data->peer_Y);
    }));
  }
  TimedKernel kernel{"objective and gradient", n, 0, threads};
  kernel.flops = 6 * numbers * static_cast<double>(n);
  candidates.push_back(candidate(kernel, [data] { call_objective(*data); }));
}

void add_gemm(std::vector<Candidate>& candidates, int threads) {
  struct Operands {
    Matrix A = random_normal_matrix(4, RandomStream::kMeasure, kGemmOrder, kGemmOrder);
    Matrix B = random_normal_matrix(5, RandomStream::kMeasure, kGemmOrder, kGemmOrder);
    Matrix C = Matrix::Zero(kGemmOrder, kGemmOrder);
  };
  const auto data = std::make_shared<Operands>();
  TimedKernel kernel{"dgemm, ours", kGemmOrder, 0, threads};
  kernel.flops = 2.0 * kGemmOrder * kGemmOrder * kGemmOrder;
  candidates.push_back(candidate(kernel, [data] {
    kernels::gemm(kernels::Trans::kNo, data->A, kernels::Trans::kNo, data->B, data->C);
  }));
  if (threads > 1) return;
  kernel.name = "dgemm, " + blas_info().library;
  candidates.push_back(
      candidate(kernel, [data] { kernels::blas_gemm(data->A, data->B, data->C); }));
}

std::vector<Candidate> all_candidates(const std::vector<Index>& orders, int max_threads) {
  std::vector<Candidate> candidates;
  for (int threads = 1; threads <= max_threads; threads += std::max(max_threads - 1, 1)) {
    add_gemm(candidates, threads);
    for (const Index n : orders) add_chain(candidates, n, threads);
  }
  return candidates;
}

std::array<double, 3> load_averages() {
  std::array<double, 3> loads{};
  if (getloadavg(loads.data(), 3) != 3) loads.fill(0);
  return loads;
}

TimedKernel timed(Candidate& candidate) {
  std::sort(candidate.seconds.begin(), candidate.seconds.end());
  candidate.kernel.median_seconds = candidate.seconds[candidate.seconds.size() / 2];
  candidate.kernel.best_seconds = candidate.seconds.front();
  return candidate.kernel;
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", 1e3 * seconds); }

std::string loads_text(const std::array<double, 3>& loads) {
  return fmt::format("{:.2f} {:.2f} {:.2f}", loads[0], loads[1], loads[2]);
}

}  // namespace
}  // namespace reproduction

double KernelTimings::blas_gigaflops() const {
  for (const TimedKernel& kernel : kernels) {
    if (kernel.name.starts_with("dgemm") && kernel.name != "dgemm, ours") return kernel.gigaflops();
  }
  return 0;
}

KernelTimings time_kernels(const std::vector<Index>& orders, int rounds) {
  require(rounds >= 1, "time_kernels: {} rounds are below 1", rounds);
  for (const Index n : orders) require(n >= 2, "time_kernels: order {} is below 2", n);
  KernelTimings timings;
  timings.rounds = rounds;
  timings.load_before = reproduction::load_averages();
  const int before = threads();
  auto candidates = reproduction::all_candidates(orders, before);
  for (auto& candidate : candidates) {
    const double first = reproduction::seconds_of(candidate);  // warms up; not counted
    candidate.calls = std::max<Index>(1, static_cast<Index>(reproduction::kMinSeconds / first));
  }
  for (int round = 0; round < rounds; ++round) {
    for (auto& candidate : candidates)
      candidate.seconds.push_back(reproduction::seconds_of(candidate));
  }
  set_threads(before);
  for (auto& candidate : candidates) timings.kernels.push_back(reproduction::timed(candidate));
  timings.load_after = reproduction::load_averages();
  return timings;
}

std::string timings_table(const KernelTimings& timings) {
  reproduction::TextTable table;
  table.caption = fmt::format(
      "Kernels in double precision: medians of {} interleaved rounds; share: of the BLAS's dgemm "
      "on "
      "one thread.",
      timings.rounds);
  table.columns = {{"", "kernel", true},
                   {"", "N"},
                   {"", "columns"},
                   {"", "threads"},
                   {"", "ms"},
                   {"", "best"},
                   {"", "GF/s"},
                   {"", "share"}};
  for (const TimedKernel& kernel : timings.kernels) {
    table.rows.push_back(
        {kernel.name,
         fmt::format("{}", kernel.n),
         kernel.columns > 0 ? fmt::format("{}", kernel.columns) : "-",
         fmt::format("{}", kernel.threads),
         reproduction::milliseconds(kernel.median_seconds),
         reproduction::milliseconds(kernel.best_seconds),
         fmt::format("{:.1f}", kernel.gigaflops()),
         fmt::format("{:.0f} %", 100 * kernel.gigaflops() / timings.blas_gigaflops())});
  }
  return reproduction::as_text(table) +
         fmt::format("\n{}; instruction set in use {}, load average {} before, {} after\n",
                     report::document_head(1, threads())["machine"].get<std::string>(),
                     kernels::instruction_set(),
                     reproduction::loads_text(timings.load_before),
                     reproduction::loads_text(timings.load_after));
}

std::string timings_json(const KernelTimings& timings) {
  report::Json json = report::document_head(1, threads());
  json["table"] = "timing";
  json["rounds"] = timings.rounds;
  json["instruction_set"] = kernels::instruction_set();
  json["load_before"] = timings.load_before;
  json["load_after"] = timings.load_after;
  json["rows"] = report::Json::array();
  for (const TimedKernel& kernel : timings.kernels) {
    json["rows"].push_back(
        {{"name", kernel.name},
         {"n", kernel.n},
         {"columns", kernel.columns > 0 ? report::Json(kernel.columns) : nullptr},
         {"threads", kernel.threads},
         {"median_seconds", kernel.median_seconds},
         {"best_seconds", kernel.best_seconds},
         {"gigaflops", kernel.gigaflops()},
         {"share_of_blas", kernel.gigaflops() / timings.blas_gigaflops()}});
  }
  return report::to_text(json);
}

}  // namespace matapprox
