#include "chain.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "chord_traffic.hpp"
#include "kernels/chord_chain.hpp"
#include "machine_rates.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/chord/objective.hpp"
#include "methods/chord/optimizers.hpp"
#include "methods/chord/start.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/spread_operator.hpp"
#include "sent_bytes.hpp"

namespace matapprox {
namespace {

using mpi::SpreadOperator;

constexpr Index kColumnsPerStep = 16;

/// Pattern with exactly one path for each distance: its digits to the base 4.
ChordPattern radix_four(Index order) {
  ChordPattern pattern{order, {}};
  for (Index stride = 1; stride < order; stride *= 4) {
    std::vector<Index> offsets;
    for (Index k = 0; k < 4 && k * stride < order; ++k) offsets.push_back(k * stride);
    pattern.offsets.push_back(std::move(offsets));
  }
  return pattern;
}

/// Pattern with links to the row itself and to one other row, at distances from 1 to half of the
/// rows.
ChordPattern two_links(Index order, Index factors) {
  const Index most = std::bit_width(static_cast<std::uint64_t>(order)) - 2;  // log2(order / 2)
  require(factors >= 2 && factors <= most + 1,
          "chain: {} factors with two links are outside 2..{}",
          factors,
          most + 1);
  ChordPattern pattern{order, {}};
  for (Index m = 0; m < factors; ++m)
    pattern.offsets.push_back({0, Index{1} << (m * most / (factors - 1))});
  return pattern;
}

ChordPattern fit_pattern(const ChainArguments& arguments) {
  return arguments.fit_factors > 0 ? two_links(arguments.fit_order, arguments.fit_factors)
                                   : radix_four(arguments.fit_order);
}

std::string as_option(const ChordPattern& pattern) {
  std::string text;
  for (const std::vector<Index>& offsets : pattern.offsets) {
    if (!text.empty()) text += ';';
    for (const Index offset : offsets) text += (offset == 0 ? "" : ",") + std::to_string(offset);
  }
  return text;
}

/// Checksum that compares the results of runs on different numbers of processes: FNV-1a over 64
/// bits.
class Fingerprint {
 public:
  void add(const double* numbers, Index count) {
    for (Index i = 0; i < count; ++i)
      hash_ = (hash_ ^ std::bit_cast<std::uint64_t>(numbers[i])) * 1099511628211U;
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037U;
};

std::string fingerprint(const double* numbers, Index count) {
  Fingerprint found;
  found.add(numbers, count);
  return found.text();
}

/// Fingerprint of one column, computed in pieces.
std::string fingerprint(const MultiVector& column) {
  constexpr Index kPiece = 1 << 18;
  std::vector<double> piece(kPiece);
  Fingerprint found;
  for (Index first = 0; first < column.rows(); first += kPiece) {
    const Index count = std::min(kPiece, column.rows() - first);
    column.space()->read_rows(column.rows(), column.data(), 1, first, count, piece.data());
    found.add(piece.data(), count);
  }
  return found.text();
}

/// Fingerprint of the values of a fit, in whatever memory space they are.
std::string fingerprint(const Approximation& fit) {
  const FactorValue& value = *fit.factors().front().value;
  if (const auto* placed = std::get_if<PlacedChord>(&value)) return fingerprint(placed->values());
  const std::vector<double>& values = std::get<ChordFactors>(value).values;
  return fingerprint(values.data(), std::ssize(values));
}

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), sizeof(double) * static_cast<std::size_t>(a.size())) == 0;
}

/// Runs work on all processes, led by the first one, and counts the bytes that each sends
/// meanwhile.
class Run {
 public:
  explicit Run(const mpi::Process& process) : process_(process), session_(process, {}) {}

  using Work = std::function<void(const std::shared_ptr<mpi::Leader>& leader)>;

  /// Returns the bytes sent by each process.
  std::vector<long long> operator()(const Work& work) {
    const std::vector<long long> before = bytes_sent_by_each(process_.comm());
    session_.run(work);
    std::vector<long long> sent = bytes_sent_by_each(process_.comm());
    for (std::size_t p = 0; p < sent.size(); ++p) sent[p] -= before[p];
    return sent;
  }

 private:
  const mpi::Process& process_;
  mpi::Session session_;
};

nlohmann::json described(const ChordPattern& pattern) {
  return {{"order", pattern.order},
          {"factors", pattern.factors()},
          {"values_bytes", 8 * pattern.stored_numbers()}};
}

nlohmann::json run_product(const mpi::Process& process, const ChainArguments& arguments) {
  const ChordPattern pattern = radix_four(arguments.order);
  const ChordTraffic traffic = chord_traffic(pattern, process.size());
  std::shared_ptr<const FactorProduct> source;
  std::unique_ptr<SpreadOperator> A;
  Matrix X;
  Run run(process);
  run([&](const auto& leader) {
    ChordFactors chain{pattern, {}};
    chain.values.resize(static_cast<std::size_t>(pattern.stored_numbers()));
    constexpr Index kNumbers = 1 << 16;
    const Index chunks = (pattern.stored_numbers() + kNumbers - 1) / kNumbers;
    parallel_for(chunks, [&](Index chunk) {
      for (Index i = chunk * kNumbers;
           i < std::min(pattern.stored_numbers(), (chunk + 1) * kNumbers);
           ++i)
        chain.values[static_cast<std::size_t>(i)] =
            random_uniform(1, RandomStream::kGenerator, i, 0) - 0.4;
    });
    source = std::make_shared<const FactorProduct>(std::vector{make_factor("W", std::move(chain))});
    A = std::make_unique<SpreadOperator>(leader, source);
    X = to_host(random_normal_block(
                    host_space(), 2, RandomStream::kSketch, arguments.order, arguments.columns)
                    .columns());
  });
  nlohmann::json result = described(pattern);
  std::vector<Matrix> products;
  for (const bool transposed : {false, true}) {
    double seconds = 0;
    const std::vector<long long> sent = run([&](const auto&) {
      const double began = seconds_now();
      products.push_back(transposed ? A->apply_transpose(X) : A->apply(X));
      seconds = seconds_now() - began;
    });
    if (!process.leads()) continue;
    result["products"].push_back(
        {{"transposed", transposed},
         {"columns", arguments.columns},
         {"seconds", seconds},
         {"sent_bytes", sent},
         {"model_bytes", product_bytes(traffic, arguments.columns, transposed)},
         {"bits", fingerprint(products.back().data(), products.back().size())}});
  }
  result["peak_bytes"] = memory_peaks(process.comm());
  // Releases the copy of the values on the processes, to make room.
  run([&](const auto&) { A.reset(); });
  if (!process.leads() || !arguments.serial) return result;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Matrix here = i == 0 ? source->apply(X) : source->apply_transpose(X);
    result["products"][i]["same_bits"] = same_bits(products[i], here);
  }
  return result;
}

/// Matrix of a ring with weighted links between neighbors.
std::shared_ptr<const SparseOperator> ring(Index order) {
  SparseMatrix A(order, order);
  A.reserve(Eigen::Matrix<Index, Eigen::Dynamic, 1>::Constant(order, 3));
  const auto weight = [&](Index i) { return random_uniform(3, RandomStream::kGenerator, i, 0); };
  for (Index i = 0; i < order; ++i) {
    A.insert(i, i) = 2;
    A.insert(i, (i + 1) % order) = -weight(i);
    A.insert(i, (i + order - 1) % order) = -weight((i + order - 1) % order);
  }
  A.makeCompressed();
  return std::make_shared<const SparseOperator>(std::move(A));
}

/// Model of the bytes of a fit: its steps, the validation columns before every step and at the end,
/// and a product with as many unit vectors for the test columns.
double fit_bytes(const ChordTraffic& traffic, Index order, Index steps) {
  const auto validation =
      std::ssize(chord_fit::ColumnSample(order, kColumnsPerStep, 1).validation());
  const auto bytes = [&](Index columns, Index most, bool gradient) {
    return objective_bytes(
        traffic, columns, kernels::objective_width<double>(order, most), gradient);
  };
  return static_cast<double>(steps) * bytes(kColumnsPerStep, kColumnsPerStep, true) +
         static_cast<double>(steps + 1) * bytes(validation, validation, false) +
         product_bytes(traffic, validation, /*transposed=*/false);
}

nlohmann::json run_fit(const mpi::Process& process, const ChainArguments& arguments) {
  const ChordPattern pattern = fit_pattern(arguments);
  const ChordOptions options{.offsets = as_option(pattern),
                             .adam_steps = arguments.steps,
                             .columns_per_step = kColumnsPerStep};
  std::shared_ptr<const SparseOperator> A;
  std::unique_ptr<SpreadOperator> spread;
  std::string bits;
  double seconds = 0;
  const auto fit = [&](const LinearOperator& matrix) {
    const double began = seconds_now();
    const Approximation found = chord(matrix, options);
    seconds = seconds_now() - began;
    return fingerprint(found);
  };
  Run run(process);
  run([&](const auto& leader) {
    A = ring(arguments.fit_order);
    spread = std::make_unique<SpreadOperator>(leader, A);
  });
  const std::vector<long long> sent = run([&](const auto&) { bits = fit(*spread); });
  nlohmann::json result = described(pattern);
  result["peak_bytes"] = memory_peaks(process.comm());
  run([&](const auto&) { spread.reset(); });
  if (!process.leads()) return result;
  const ChordTraffic traffic = chord_traffic(pattern, process.size());
  result["steps"] = arguments.steps;
  result["columns_per_step"] = kColumnsPerStep;
  result["seconds"] = seconds;
  result["sent_bytes"] = sent;
  result["model_bytes"] = fit_bytes(traffic, arguments.fit_order, arguments.steps);
  result["bits"] = bits;
  if (arguments.serial) result["same_bits"] = fit(*A) == bits;
  return result;
}

/// Takes steps of Adam by random columns, as a fit does, but without its validation and test
/// columns, which would be dense and on the first process. Returns the fingerprint of the point at
/// the end.
template <class Objective>
std::string take_steps(const std::shared_ptr<const MemorySpace>& space,
                       const ChordPattern& pattern,
                       Index steps,
                       const Objective& objective) {
  namespace fit = chord_fit;
  fit::FitState state;
  state.point = fit::vector_at(space, fit::random_start(pattern, 1, 0));
  fit::start_adam(state);
  MultiVector gradient(space, state.point.rows(), 1);
  fit::ColumnSample sample(pattern.order, kColumnsPerStep, 1);
  while (state.adam_step < steps) {
    objective(sample.step(state.adam_step), state.point.data(), gradient.data());
    space->scale(gradient.data(),
                 gradient.rows(),
                 static_cast<double>(pattern.order) / static_cast<double>(kColumnsPerStep));
    fit::adam_step(
        state, gradient.data(), steps, fit::kSampledStep, fit::Annealing::kSquaredCosine);
  }
  return fingerprint(state.point);
}

nlohmann::json run_steps_alone(const mpi::Process& process, const ChainArguments& arguments) {
  const ChordPattern pattern = fit_pattern(arguments);
  std::shared_ptr<const SparseOperator> A;
  std::unique_ptr<DeviceChordObjective> spread;
  Run run(process);
  run([&](const auto& leader) {
    A = ring(pattern.order);
    const ChordTarget target{.matrix = *A, .columns = nullptr};
    spread = mpi::make_spread_chord_objective(leader, pattern, kColumnsPerStep, target);
  });
  nlohmann::json result = described(pattern);
  std::string bits;
  double seconds = 0;
  const std::vector<long long> sent = run([&](const auto&) {
    const double began = seconds_now();
    bits = take_steps(spread->space(), pattern, arguments.steps, [&](const auto& J, auto... at) {
      spread->evaluate(J, at...);
    });
    seconds = seconds_now() - began;
  });
  result["peak_bytes"] = memory_peaks(process.comm());
  run([&](const auto&) { spread.reset(); });
  if (!process.leads()) return result;
  const ChordTraffic traffic = chord_traffic(pattern, process.size());
  const Index width = kernels::objective_width<double>(pattern.order, kColumnsPerStep);
  result["steps_alone"] = arguments.steps;
  result["columns_per_step"] = kColumnsPerStep;
  result["seconds"] = seconds;
  result["sent_bytes"] = sent;
  result["model_bytes"] = static_cast<double>(arguments.steps) *
                          objective_bytes(traffic, kColumnsPerStep, width, /*gradient=*/true);
  result["bits"] = bits;
  if (!arguments.serial) return result;
  const auto here = [&](const std::vector<Index>& J, const double* values, double* gradient) {
    const auto panel = [&](Index first, Index count, double* rows) {
      const Matrix columns = A->columns_at(
          std::span(J).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
      for (Index i = 0; i < columns.rows(); ++i) {
        for (Index c = 0; c < count; ++c) rows[i * count + c] = columns(i, c);
      }
    };
    kernels::chord_objective<double>(pattern, values, J, panel, gradient);
  };
  result["same_bits"] = take_steps(host_space(), pattern, arguments.steps, here) == bits;
  return result;
}

}  // namespace

nlohmann::json run_chain(const ChainArguments& arguments) {
  const mpi::Process process(MPI_COMM_WORLD);
  for (const Index order : {arguments.order, arguments.fit_order})
    require(order % process.size() == 0,
            "chain: the order {} must be a multiple of the {} processes",
            order,
            process.size());
  nlohmann::json result{{"processes", process.size()}, {"threads", threads()}};
  if (arguments.order > 0) result["product"] = run_product(process, arguments);
  if (arguments.fit_order > 0) {
    result["fit"] =
        arguments.steps_alone ? run_steps_alone(process, arguments) : run_fit(process, arguments);
  }
  return result;
}

}  // namespace matapprox
