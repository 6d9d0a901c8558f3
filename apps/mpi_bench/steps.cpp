#include "steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "graph.hpp"
#include "kernels/chord_chain.hpp"
#include "machine.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "methods/chord/objective.hpp"
#include "methods/chord/optimizers.hpp"
#include "methods/chord/start.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/link_halo.hpp"
#include "mpi/petsc_matrix.hpp"
#include "mpi/row_exchange.hpp"
#include "mpi/spread_operator.hpp"

namespace matapprox {
namespace {

using mpi::RanksSpace;
using mpi::SpreadOperator;

constexpr Index kBlock = 16;
constexpr Index kBasis = 60;
constexpr Index kDimension = 8;

/// Times one step after another, on the leader.
class Steps {
 public:
  explicit Steps(std::shared_ptr<mpi::Leader> leader)
      : leader_(std::move(leader)),
        space_(std::make_shared<const RanksSpace>(leader_, std::vector<mpi::Layout>{})),
        tiny_(space_, leader_->processes(), 1) {
    space_->zero(tiny_.data(), tiny_.size());
  }

  const std::shared_ptr<mpi::Leader>& leader() const { return leader_; }

  /// Sends a command to all processes and sums one number of each.
  void round_trip() const { space_->column_norms(tiny_.rows(), tiny_.data(), 1); }

  /// Adds the median time of a step and of the round trip after it, which ends when all processes
  /// have done their part.
  void time(const std::string& name, const std::function<void()>& step, int calls = 9) {
    const auto once = [&] {
      const double began = MPI_Wtime();
      step();
      round_trip();
      return MPI_Wtime() - began;
    };
    once();  // the first call allocates memory that later calls reuse
    rows_.push_back({{"step", name}, {"seconds", median_of(calls, once)}});
  }

  void time_product(const LinearOperator& A,
                    const std::string& name,
                    Index columns,
                    bool transposed = false) {
    const MultiVector X =
        random_normal_block(A.memory_space(), 1, RandomStream::kSketch, A.cols(), columns);
    MultiVector Y(A.memory_space(), A.rows(), columns);
    const std::string count = columns == 1 ? ", 1 column" : fmt::format(", {} columns", columns);
    time((transposed ? "transposed " : "") + name + count, [&] {
      if (transposed) {
        A.apply_transpose(X.columns(), Y.columns());
      } else {
        A.apply(X.columns(), Y.columns());
      }
    });
  }

  nlohmann::json take_rows() { return std::move(rows_); }

 private:
  std::shared_ptr<mpi::Leader> leader_;
  std::shared_ptr<const RanksSpace> space_;
  MultiVector tiny_;
  nlohmann::json rows_;
};

/// Rows that a process needs of others in a sparse product, and the processes that send them.
nlohmann::json graph_traffic(Index nodes, int processes) {
  std::vector<Index> offsets{0};
  for (const Index d : graph_distances(nodes)) {
    offsets.push_back(d);
    offsets.push_back(nodes - d);
  }
  const mpi::LinkHalo halo(mpi::even_layout(nodes, processes), 0, offsets);
  Index received = 0;
  std::set<int> others;
  for (const auto& rows : halo.received()) {
    received += rows.count;
    others.insert(rows.process);
  }
  return {
      {"entries_per_row", offsets.size()}, {"received_rows", received}, {"senders", others.size()}};
}

void time_graph(Steps& steps, const mpi::ImportedMatrix& taken) {
  const auto A = mpi::petsc_operator(steps.leader(), taken.rows, taken.columns, taken.facts);
  for (const Index columns : {Index{1}, kBlock}) steps.time_product(*A, "sparse product", columns);
  const MultiVector basis =
      random_normal_block(A->memory_space(), 2, RandomStream::kSketch, A->rows(), kBasis);
  MultiVector block =
      random_normal_block(A->memory_space(), 3, RandomStream::kSketch, A->rows(), kBlock);
  steps.time("transpose_product", [&] { transpose_product(basis.columns(), block.columns()); });
  const Matrix S = Matrix::Constant(kBasis, kBlock, 1e-9);  // keeps the block in range
  steps.time("add_product", [&] { add_product(-1, basis.columns(), S, 1, block.columns()); });
}

void time_chord(Steps& steps, const ChordPattern& pattern) {
  const Vector start = chord_fit::random_start(pattern, 1, 0);
  const auto source = std::make_shared<const FactorProduct>(
      std::vector{make_factor("W", ChordFactors{pattern, {start.begin(), start.end()}})});
  const SpreadOperator A(steps.leader(), source);
  for (const Index columns : {Index{1}, kBlock}) {
    for (const bool transposed : {false, true})
      steps.time_product(A, "Chord product", columns, transposed);
  }
}

void time_adam(Steps& steps, const ChordPattern& pattern) {
  using namespace chord_fit;
  const Index order = pattern.order;
  SparseMatrix ring(order, order);
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < order; ++i) {
    entries.emplace_back(i, i, 2.0);
    entries.emplace_back(i, (i + 1) % order, -1.0);
    entries.emplace_back((i + 1) % order, i, -1.0);
  }
  ring.setFromTriplets(entries.begin(), entries.end());
  const SparseOperator A(std::move(ring));
  const auto objective = mpi::make_spread_chord_objective(
      steps.leader(), pattern, kBlock, {.matrix = A, .unit = std::sqrt(6.0), .columns = {}});
  FitState state;
  state.point = vector_at(objective->space(), random_start(pattern, 1, 0));
  start_adam(state);
  MultiVector gradient(objective->space(), state.point.rows(), 1);
  ColumnSample sample(order, kBlock, 1);
  const double weight = static_cast<double>(order) / static_cast<double>(kBlock);
  steps.time(fmt::format("step of Adam, {} columns", kBlock), [&] {
    const std::vector<Index> J = sample.step(state.adam_step);
    objective->evaluate(J, state.point.data(), gradient.data());
    objective->space()->scale(gradient.data(), gradient.size(), weight);
    if (!is_finite(gradient)) throw NumericalError("steps: the gradient is not finite");
    adam_step(state, gradient.data(), 100, kSampledStep, Annealing::kSquaredCosine);
  });
}

void time_kernel(Steps& steps, Index points) {
  const auto source = std::make_shared<const KernelOperator>(Matrix(to_host(
      random_normal_block(host_space(), 4, RandomStream::kSketch, points, kDimension).columns())));
  steps.time_product(SpreadOperator(steps.leader(), source), "kernel product", kBlock);
}

}  // namespace

nlohmann::json run_steps(const StepsArguments& arguments) {
  const mpi::Process process(MPI_COMM_WORLD);
  for (const Index size : {arguments.nodes, arguments.order, arguments.points}) {
    require(size % process.size() == 0,
            "steps: {} must be a multiple of the {} processes",
            size,
            process.size());
  }
  const nlohmann::json rates = measure_rates(process.comm());
  Mat graph_rows = graph_matrix(arguments.nodes, PETSC_COMM_WORLD);
  mpi::ImportedMatrix taken = mpi::take(process, graph_rows);
  MatDestroy(&graph_rows);
  nlohmann::json result;
  mpi::lead_or_serve(process, std::move(taken.store), [&](const auto& leader) {
    Steps steps(leader);
    steps.time(
        "command", [] {}, 900);
    time_graph(steps, taken);
    const ChordPattern pattern = chord_reference_pattern(arguments.order);
    time_chord(steps, pattern);
    time_adam(steps, pattern);
    time_kernel(steps, arguments.points);
    result = {{"processes", process.size()},
              {"threads", threads()},
              {"nodes", arguments.nodes},
              {"order", arguments.order},
              {"points", arguments.points},
              {"dimension", kDimension},
              {"block_columns", kBlock},
              {"basis_columns", kBasis},
              {"graph", graph_traffic(arguments.nodes, process.size())},
              {"factors", pattern.factors()},
              {"links", pattern.links(0)},
              {"fit_panel_columns", kernels::objective_width<double>(arguments.order, kBlock)},
              {"kernel_panel_points", mpi::panel_rows(kBlock + kDimension)},
              {"machine", rates},
              {"steps", steps.take_rows()}};
  });
  return result;
}

}  // namespace matapprox
