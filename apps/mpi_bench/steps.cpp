#include "steps.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "chord_traffic.hpp"
#include "graph.hpp"
#include "kernels/chord_chain.hpp"
#include "machine_rates.hpp"
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
#include "sent_bytes.hpp"

namespace matapprox {
namespace {

using mpi::RanksSpace;
using mpi::SpreadOperator;

constexpr Index kBlock = 16;
constexpr Index kBasis = 60;
constexpr Index kDimension = 8;
// Number of operations that the exponential of a kernel counts as.
constexpr double kExponential = 30;

/// Work of one process in a step, by the cost model.
struct Work {
  double memory = 0;    ///< bytes read and written
  double flops = 0;     ///< a multiply-add is two
  double sent = 0;      ///< bytes, sent one message after another
  double messages = 0;  ///< messages that wait for each other
};

double seconds_of(const Work& work, const MachineRates& rates) {
  return std::max(work.memory / rates.memory_bytes, work.flops / rates.flops) +
         work.sent / rates.message_bytes + work.messages * rates.latency;
}

/// Times one step after another, on the leader.
class Steps {
 public:
  Steps(std::shared_ptr<mpi::Leader> leader,
        const MachineRates& rates,
        const StepsArguments& arguments)
      : leader_(std::move(leader)),
        rates_(rates),
        repetitions_(arguments.repetitions),
        only_(arguments.only),
        space_(std::make_shared<const RanksSpace>(leader_, std::vector<mpi::Layout>{})),
        tiny_(space_, leader_->processes(), 1) {
    space_->zero(tiny_.data(), tiny_.size());
  }

  const std::shared_ptr<mpi::Leader>& leader() const { return leader_; }
  int processes() const { return leader_->processes(); }
  /// Number of messages that wait for each other in a tree over all processes.
  double tree() const { return std::ceil(std::log2(processes())); }

  /// Sends a command to all processes and sums one number of each.
  void round_trip() const { space_->column_norms(tiny_.rows(), tiny_.data(), 1); }

  /// Times a step. It ends when all processes have done their part: with a round trip, unless it is
  /// one.
  void time(const std::string& name, Work work, const std::function<void()>& step) {
    if (name.find(only_) == std::string::npos) return;
    const bool is_round_trip = !step;
    work.messages += 2 * tree();
    const auto once = [&] {
      const double began = seconds_now();
      if (step) step();
      round_trip();
      return seconds_now() - began;
    };
    once();  // the first call allocates memory that later calls reuse
    const int calls = is_round_trip ? 100 * repetitions_ : repetitions_;
    const Usage before = usage();
    const double seconds = median_of(calls, once);
    const Usage after = usage();
    const double model = seconds_of(work, rates_);
    rows_.push_back({{"step", name},
                     {"seconds", seconds},
                     {"model_seconds", model},
                     {"ratio", seconds / model},
                     {"memory_bytes", work.memory},
                     {"flops", work.flops},
                     {"sent_bytes", work.sent},
                     {"messages", work.messages},
                     {"rows_sent_bytes", static_cast<double>(after.sent - before.sent) / calls},
                     {"system_seconds", (after.system_seconds - before.system_seconds) / calls},
                     {"page_faults", static_cast<double>(after.faults - before.faults) / calls}});
  }

  nlohmann::json take_rows() { return std::move(rows_); }

 private:
  /// Resource usage of the first process so far.
  struct Usage {
    double system_seconds;
    long long faults;
    long long sent;
  };
  static Usage usage() {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    return {
        static_cast<double>(now.ru_stime.tv_sec) + 1e-6 * static_cast<double>(now.ru_stime.tv_usec),
        now.ru_minflt,
        sent_messages().bytes};
  }

  std::shared_ptr<mpi::Leader> leader_;
  MachineRates rates_;
  int repetitions_;
  std::string only_;
  std::shared_ptr<const RanksSpace> space_;
  MultiVector tiny_;
  nlohmann::json rows_;
};

std::string with_columns(const std::string& step, Index columns) {
  return step + (columns == 1 ? ", 1 column" : ", " + std::to_string(columns) + " columns");
}

double number(Index count) { return static_cast<double>(count); }

void time_products(Steps& steps,
                   const LinearOperator& A,
                   const std::string& name,
                   bool transposed,
                   Index columns,
                   const Work& work) {
  const MultiVector X =
      random_normal_block(A.memory_space(), 1, RandomStream::kSketch, A.cols(), columns);
  MultiVector Y(A.memory_space(), A.rows(), columns);
  steps.time(with_columns(name, columns), work, [&] {
    if (transposed) {
      A.apply_transpose(X.columns(), Y.columns());
    } else {
      A.apply(X.columns(), Y.columns());
    }
  });
}

/// A process has n rows with e entries and needs g rows of others. With one column: for each entry,
/// the value, the column index and a number of X; for each row, its start, X, which is copied
/// beside the received rows, and Y. From three columns on, each entry reads a row of a row-major
/// copy of X.
Work sparse_work(const Graph& graph, int processes, Index columns) {
  std::vector<Index> offsets{0};
  for (const Index d : graph.distances()) {
    offsets.push_back(d);
    offsets.push_back(graph.nodes() - d);
  }
  const mpi::LinkHalo halo(mpi::even_layout(graph.nodes(), processes), 0, offsets);
  Index ghosts = 0;
  std::set<int> others;
  for (const auto& rows : halo.received()) {
    ghosts += rows.count;
    others.insert(rows.process);
  }
  const double n = number(graph.nodes()) / processes;
  const double e = n * number(std::ssize(offsets));
  const double g = number(ghosts);
  const double b = number(columns);
  Work work;
  work.memory = 16 * e + 8 * n + 8 * b * e + b * (24 * n + 16 * g);
  if (columns > 2) work.memory += 16 * b * (n + g);
  work.flops = 2 * b * e;
  work.sent = 8 * b * g;
  // One command; one agreement on memory before the rows of others arrive, one after the product.
  work.messages = 5 * std::ceil(std::log2(processes)) + static_cast<double>(others.size());
  return work;
}

void time_graph(Steps& steps, const Graph& graph, const mpi::ImportedMatrix& taken) {
  const auto A = mpi::petsc_operator(steps.leader(), taken.rows, taken.columns, taken.facts);
  for (const Index columns : {Index{1}, kBlock})
    time_products(steps,
                  *A,
                  "sparse product",
                  false,
                  columns,
                  sparse_work(graph, steps.processes(), columns));
  const double n = number(graph.nodes()) / steps.processes();
  const double a = number(kBasis);
  const double b = number(kBlock);
  const MultiVector basis =
      random_normal_block(A->memory_space(), 2, RandomStream::kSketch, A->rows(), kBasis);
  MultiVector block =
      random_normal_block(A->memory_space(), 3, RandomStream::kSketch, A->rows(), kBlock);
  Work work{.memory = 8 * n * (a + b),
            .flops = 2 * n * a * b,
            .sent = 8 * a * b * steps.tree(),
            .messages = 4 * steps.tree()};
  steps.time(
      "transpose_product", work, [&] { transpose_product(basis.columns(), block.columns()); });
  const Matrix S = Matrix::Constant(kBasis, kBlock, 1e-9);  // keeps the block in range
  work.memory = 8 * n * (a + 2 * b);
  work.messages = 6 * steps.tree();
  steps.time("add_product", work, [&] { add_product(-1, basis.columns(), S, 1, block.columns()); });
}

/// One process's part of a chain: M factors, n rows, V values, and the data that it sends.
struct ChainPart {
  ChainPart(const ChordPattern& pattern, int processes)
      : traffic(chord_traffic(pattern, processes)),
        M(number(pattern.factors())),
        n(number(pattern.order) / processes),
        V(number(pattern.stored_numbers()) / processes),
        U(number(ChordTraffic::sum(traffic.rows, 0, pattern.factors()))),
        T(number(ChordTraffic::sum(traffic.values, 0, pattern.factors()))),
        others(processes - 1) {}

  ChordTraffic traffic;
  double M;
  double n;
  double V;
  double U;  ///< rows of panels sent, over all factors
  double T;  ///< values sent for the transposes
  double others;
};

/// The values are read once; for each factor one panel is read and one written. A vector is stored
/// twice. For the transpose, the values are transposed first, and those that move are packed and
/// unpacked.
Work chord_work(const ChainPart& part, double tree, Index columns, bool transposed) {
  const double b = number(columns);
  Work work;
  work.memory = 8 * part.V + 16 * b * part.n * (part.M + 2);
  if (columns == 1) work.memory += 16 * (part.M * part.n + part.U);
  work.flops = 2 * b * part.V;
  work.sent = product_bytes(part.traffic, columns, transposed);
  work.messages = 3 * tree + part.M * tree;
  if (transposed) {
    work.memory += 16 * part.V + 32 * part.T;
    work.messages += part.M * part.others;
  }
  return work;
}

void time_chord(Steps& steps, Index order) {
  const ChordPattern pattern = chord_reference_pattern(order);
  const ChainPart part(pattern, steps.processes());
  const Vector start = chord_fit::random_start(pattern, 1, 0);
  const auto source = std::make_shared<const FactorProduct>(
      std::vector{make_factor("W", ChordFactors{pattern, {start.begin(), start.end()}})});
  const SpreadOperator A(steps.leader(), source);
  for (const Index columns : {Index{1}, kBlock}) {
    for (const bool transposed : {false, true})
      time_products(steps,
                    A,
                    transposed ? "transposed Chord product" : "Chord product",
                    transposed,
                    columns,
                    chord_work(part, steps.tree(), columns, transposed));
  }
}

/// One evaluation transposes the values once and clears the gradient. A panel of w columns reads
/// the values in both directions and updates the gradient; for each factor, three panels are read,
/// and three are written or read again. Then the gradient is scaled and checked, and Adam reads
/// four vectors and writes three.
Work adam_work(const ChainPart& part, double tree, Index width) {
  const double w = number(width);
  const double panels = std::ceil(number(kBlock) / w);
  Work work;
  work.memory = 8 * part.V * (2 + 1 + 2 + 1 + 7) + 32 * part.T +
                panels * (8 * part.V * (1 + 2 + 1) + 48 * w * part.n * part.M);
  work.flops = panels * 6 * w * part.V;
  work.sent = objective_bytes(part.traffic, kBlock, width, true);
  work.messages = part.M * part.others + panels * 2 * part.M * tree +  // rows and values
                  (2 + 3 * panels + 1 + 2 + 1) * tree;                 // commands and their sums
  return work;
}

void time_adam(Steps& steps, Index order) {
  using namespace chord_fit;
  const ChordPattern pattern = chord_reference_pattern(order);
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
  const double weight = number(order) / number(kBlock);
  const Index width = kernels::objective_width<double>(order, kBlock);
  const ChainPart part(pattern, steps.processes());
  steps.time(with_columns("step of Adam", kBlock), adam_work(part, steps.tree(), width), [&] {
    const std::vector<Index> J = sample.step(state.adam_step);
    objective->evaluate(J, state.point.data(), gradient.data());
    objective->space()->scale(gradient.data(), gradient.size(), weight);
    if (!is_finite(gradient)) throw NumericalError("steps: the gradient is not finite");
    adam_step(state, gradient.data(), 100, kSampledStep, Annealing::kSquaredCosine);
  });
}

/// Each entry takes three operations per coordinate, the exponential, and a multiply-add per
/// column. All points and all rows of X arrive in panels, each along a tree.
void time_kernel(Steps& steps, Index points) {
  const auto source = std::make_shared<const KernelOperator>(Matrix(to_host(
      random_normal_block(host_space(), 4, RandomStream::kSketch, points, kDimension).columns())));
  const SpreadOperator A(steps.leader(), source);
  const double N = number(points);
  const double d = number(kDimension);
  const double b = number(kBlock);
  const double panels = std::ceil(N / number(mpi::panel_rows(kBlock + kDimension)));
  Work work;
  work.flops = N / steps.processes() * N * (3 * d + kExponential + 2 * b);
  work.sent = 8 * N * (d + b) * steps.tree();
  work.messages = (1 + 6 * panels) * steps.tree();
  time_products(steps, A, "kernel product", false, kBlock, work);
}

}  // namespace

nlohmann::json run_steps(const StepsArguments& arguments) {
  const mpi::Process process(MPI_COMM_WORLD);
  require(arguments.nodes % process.size() == 0 && arguments.order % process.size() == 0 &&
              arguments.points % process.size() == 0,
          "steps: nodes, order and points must be multiples of the {} processes",
          process.size());
  const MachineRates rates = measure_rates(process.comm());
  const Graph graph(arguments.nodes);
  Mat graph_rows = graph.rows_of(PETSC_COMM_WORLD);
  mpi::ImportedMatrix taken = mpi::take(process, graph_rows);
  MatDestroy(&graph_rows);
  nlohmann::json result;
  mpi::lead_or_serve(process, std::move(taken.store), [&](const auto& leader) {
    Steps steps(leader, rates, arguments);
    steps.time("command", {}, {});
    time_graph(steps, graph, taken);
    leader->run(mpi::RemoveMatrix{mpi::ImportedMatrix::kNumber});
    time_chord(steps, arguments.order);
    time_adam(steps, arguments.order);
    time_kernel(steps, arguments.points);
    result = {{"processes", process.size()},
              {"nodes", arguments.nodes},
              {"order", arguments.order},
              {"points", arguments.points},
              {"threads", threads()},
              {"machine",
               {{"latency_seconds", rates.latency},
                {"message_bytes_per_second", rates.message_bytes},
                {"memory_bytes_per_second", rates.memory_bytes},
                {"flops_per_second", rates.flops},
                {"new_memory_bytes_per_second", rates.new_memory_bytes}}},
              {"steps", steps.take_rows()}};
  });
  return result;
}

}  // namespace matapprox
