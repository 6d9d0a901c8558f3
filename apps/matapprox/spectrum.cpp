#include <algorithm>
#include <cmath>
#include <vector>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/methods/eigenpairs.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox::app {
namespace {

struct SpectrumCommand : BasicOptions {
  InputOptions input;
  double nearest = 0;
  std::optional<Index> count;  ///< unset: 8, or the order if smaller
  std::string vectors;
};

/// The entries of a matrix that is stored in memory.
SparseMatrix entries_of(const LinearOperator& A, const std::string& path) {
  if (const SparseMatrix* sparse = sparse_values(A)) return *sparse;
  if (const Matrix* dense = dense_values(A)) {
    SparseMatrix entries = dense->sparseView(0.0, 0.0);
    entries.makeCompressed();
    return entries;
  }
  throw InvalidArgument(
      fmt::format("{}: eigenvalues near a shift need the entries of the matrix, but this is {}",
                  path,
                  A.description()));
}

Eigenpairs eigenpairs_of(const SpectrumCommand& command, const SparseMatrix& A) {
  ProgressLine line(command.common.quiet());
  line.start("spectrum");
  RunControl control;
  control.stop = &catch_interrupts();
  control.progress = [&](const Progress& progress) { line.update(progress); };
  return nearest_eigenpairs(A,
                            {.shift = command.nearest,
                             .count = command.count.value_or(std::min<Index>(8, A.rows())),
                             .seed = command.common.seed()},
                            control);
}

std::string text_of(const Eigenpairs& found, double nearest, double seconds) {
  std::string text = fmt::format(
      "{} eigenvalues nearest to {:g}, {} solves, {:.3g} s\n"
      "{:>6} {:>24} {:>14} {:>16}\n",
      found.values.size(),
      nearest,
      found.solves,
      seconds,
      "",
      "eigenvalue",
      "distance",
      "|A v - l v|");
  for (Index i = 0; i < found.values.size(); ++i) {
    text += fmt::format("{:>6} {:>24.16g} {:>14.4g} {:>16.2e}\n",
                        i + 1,
                        found.values(i),
                        std::abs(found.values(i) - nearest),
                        found.residuals(i));
  }
  if (!found.converged) text += fmt::format("Not certain: {}.\n", visible_text(found.message));
  return text;
}

int run_spectrum(const SpectrumCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("spectrum");
  if (!command.vectors.empty()) check_block_format(command.vectors);
  command.json.files().reads(command.input.path()).replaces("-o", command.vectors);
  const LoadedMatrix loaded = command.input.load(command.common.quiet());
  const SparseMatrix A = entries_of(*loaded.matrix, command.input.path());
  const Stopwatch clock;
  const Eigenpairs found = eigenpairs_of(command, A);
  const double seconds = clock.seconds();
  report::Json json = report::document_head(command.common.seed(), threads());
  json["matrix"] = command.input.path();
  json["rows"] = A.rows();
  json["averaged_asymmetry"] = loaded.matrix->known_facts().averaged_asymmetry;
  json["nearest"] = command.nearest;
  json["used_shift"] = found.used_shift;
  json["eigenvalues"] = std::vector<double>(found.values.begin(), found.values.end());
  json["residuals"] = std::vector<double>(found.residuals.begin(), found.residuals.end());
  json["converged"] = found.converged;
  json["message"] = found.message;
  json["solves"] = found.solves;
  json["seconds"] = seconds;
  if (!command.vectors.empty()) write_block(command.vectors, found.vectors);
  json["output"] = nullptr;
  if (!command.vectors.empty()) json["output"] = actual_output_path(command.vectors);
  command.json.write(json);
  if (!command.json.replaces_text() && command.vectors != "-") {
    write_stdout(text_of(found, command.nearest, seconds));
  } else if (!found.converged) {
    command.note("not certain: {}", found.message);
  }
  return kDone;
}

}  // namespace

void add_spectrum(const Command& program) {
  auto command = std::make_shared<SpectrumCommand>();
  const Command sub = program.add_command(
      "spectrum",
      "Finds the eigenvalues of a symmetric sparse matrix nearest to a number, with eigenvectors");
  command->input.add(sub, "The matrix, symmetric; --as laplacian for a graph");
  sub.add_option(
      "--nearest X", command->nearest, "Find the eigenvalues nearest to this number [0]");
  sub.add_option(
         "--count K", command->count, "Number of eigenvalues [8, or all of a smaller matrix]")
      .range(1);
  sub.add_option("-o,--output FILE",
                 command->vectors,
                 "Eigenvectors, as columns: .npy .mtx .csv .h5; - is CSV on standard output");
  command->add_basic(sub, true, true);
  sub.footer(
      "Examples:\n"
      "  matapprox spectrum matrices/small_world.mtx --as laplacian --count 4 -o vectors.npy\n"
      "  matapprox spectrum A.mtx --nearest 2.5 --count 10 --json -");
  sub.action([command] { return run_spectrum(*command); });
}

}  // namespace matapprox::app
