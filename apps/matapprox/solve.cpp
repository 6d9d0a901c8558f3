#include "matapprox/solve/solve.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/solve/preconditioner.hpp"
#include "report/gnuplot.hpp"
#include "report/solution_report.hpp"

namespace matapprox::app {
namespace {

struct SolveCommand : BasicOptions {
  InputOptions input;
  std::string right_side;
  NamedFlags solver;  ///< members of SolveOptions
  std::string preconditioner = "none";
  std::string preconditioner_of{enum_name(ApproximationOf::kInverse)};
  std::optional<Option> preconditioner_of_option;
  double max_seconds = std::numeric_limits<double>::infinity();
  std::string output;
  std::string page;
  std::string chart;
};

/// The preconditioner and a short description. A null M means none.
struct ChosenPreconditioner {
  std::shared_ptr<const LinearOperator> M;
  std::string text = "none";
  double seconds = 0;  ///< time to read and prepare it
};

ApproximationOf approximated(const SolveCommand& command) {
  return enum_value<ApproximationOf>("--preconditioner-of", command.preconditioner_of);
}

bool is_file(const std::string& preconditioner) {
  return preconditioner != "none" && preconditioner != "jacobi";
}

/// Throws for an approximation of A declared as one of its inverse, with which the solver would
/// converge slowly or never; notes an approximation of another matrix. Fingerprints identify the
/// matrix.
void check_origin(const SolveCommand& command,
                  const SavedApproximation& saved,
                  const LinearOperator& A,
                  ApproximationOf of) {
  const Provenance& source = saved.record.provenance;
  if (source.fingerprint.empty()) return;
  const bool of_this_matrix = same_fingerprint(source.fingerprint, fingerprint(A));
  require(!(of_this_matrix && of == ApproximationOf::kInverse),
          "{} approximates {} itself, not its inverse; add --preconditioner-of matrix",
          command.preconditioner,
          command.input.path());
  if (!of_this_matrix && of == ApproximationOf::kMatrix) {
    command.note("note: {} was made from another matrix ({}, {} x {})",
                 command.preconditioner,
                 source.path,
                 source.rows,
                 source.cols);
  }
}

std::shared_ptr<const LinearOperator> saved_preconditioner(const SolveCommand& command,
                                                           const LinearOperator& A,
                                                           double shift,
                                                           std::string& text) {
  const ApproximationOf of = approximated(command);
  const SavedApproximation saved = load_approximation(command.preconditioner);
  const Approximation& B = saved.approximation;
  require(B.rows() == A.rows() && B.cols() == A.cols(),
          "{} is {} x {}, but {} is {} x {}",
          command.preconditioner,
          B.rows(),
          B.cols(),
          command.input.path(),
          A.rows(),
          A.cols());
  check_origin(command, saved, A, of);
  const bool symmetric = is_symmetric(A);
  auto M = of == ApproximationOf::kInverse
               ? preconditioner_of_inverse(std::make_shared<FactorProduct>(B), symmetric)
               : preconditioner_of_matrix(B, symmetric, shift);
  text = fmt::format("{}, {} of the {}: {}, {} numbers",
                     command.preconditioner,
                     B.summary.method,
                     enum_name(of),
                     M->description(),
                     M->cost().stored_numbers);
  return M;
}

ChosenPreconditioner choose_preconditioner(const SolveCommand& command,
                                           const LinearOperator& A,
                                           double shift) {
  ChosenPreconditioner chosen;
  const Stopwatch clock;
  if (command.preconditioner == "jacobi") {
    chosen.M = jacobi_preconditioner(A, shift);
    chosen.text = "jacobi";
  } else if (is_file(command.preconditioner)) {
    chosen.M = saved_preconditioner(command, A, shift, chosen.text);
  }
  chosen.seconds = clock.seconds();
  return chosen;
}

/// Solves one right-hand side after another, until one is interrupted or out of time.
std::vector<SolveResult> solve_columns(const SolveCommand& command,
                                       const LinearOperator& A,
                                       const Matrix& B,
                                       const SolveOptions& options,
                                       const LinearOperator* M) {
  ProgressLine line(command.common.quiet());
  line.start("solve", command.max_seconds);
  RunControl control;
  control.stop = &catch_interrupts();
  control.max_seconds = command.max_seconds;
  std::vector<SolveResult> results;
  control.progress = [&](const Progress& now) {
    line.show([&] {
      return fmt::format("column {} of {}: iteration {}, residual {:.3e}",
                         results.size() + 1,
                         B.cols(),
                         now.iteration,
                         now.relative_error);
    });
  };
  for (Index j = 0; j < B.cols(); ++j) {
    results.push_back(solve(A, B.col(j), options, M, control));
    const SolveEnd end = results.back().end;
    if (end == SolveEnd::kInterrupted || end == SolveEnd::kMaxSeconds) break;
  }
  return results;
}

/// The solutions as columns; columns that were not begun are zero.
Matrix solutions(const std::vector<SolveResult>& results, Index rows, Index cols) {
  Matrix X = Matrix::Zero(rows, cols);
  for (std::size_t j = 0; j < results.size(); ++j) X.col(static_cast<Index>(j)) = results[j].x;
  return X;
}

Matrix right_sides(const SolveCommand& command, const LinearOperator& A) {
  Matrix B = read_block(command.right_side, "", A.rows(), command.common.quiet());
  require(A.rows() == A.cols(),
          "{} is {} x {}; only square systems are solved",
          command.input.path(),
          A.rows(),
          A.cols());
  require(B.rows() == A.rows(),
          "{} is {} x {}, but {} has {} rows",
          command.right_side,
          B.rows(),
          B.cols(),
          command.input.path(),
          A.rows());
  return B;
}

report::Json solution_json(const SolveCommand& command,
                           const LinearOperator& A,
                           const SolveOptions& options,
                           const ChosenPreconditioner& chosen,
                           const std::vector<SolveResult>& results,
                           const Matrix& X) {
  report::Json json = report::document_head(1, threads());
  json["matrix"] = command.input.path();
  json["rows"] = A.rows();
  json["averaged_asymmetry"] = A.known_facts().averaged_asymmetry;
  json["right_side"] = command.right_side;
  json["preconditioner"] = chosen.M ? report::Json(command.preconditioner) : report::Json(nullptr);
  json["preconditioner_of"] = is_file(command.preconditioner)
                                  ? report::Json(command.preconditioner_of)
                                  : report::Json(nullptr);
  json["preconditioner_numbers"] =
      chosen.M ? report::Json(chosen.M->cost().stored_numbers) : report::Json(nullptr);
  json["preconditioner_seconds"] = chosen.seconds;
  json["options"] = report::Json::object();
  for (const OptionText& option : list_options(options))
    json["options"][option.name] = option.value;
  json["solutions"] = report::Json::array();
  for (const SolveResult& result : results) json["solutions"].push_back(report::to_json(result));
  add_output(json, command.output, X);
  return json;
}

void write_images(const SolveCommand& command, const report::SolutionContents& contents) {
  if (!command.page.empty())
    write_text(command.page, report::page_html(report::solution_page(contents)));
  if (command.chart.empty()) return;
  const report::ChartFiles files = report::draw_files(report::residual_chart(contents));
  write_text(command.chart, command.chart.ends_with(".svg") ? files.svg : files.png);
}

int exit_code_of(const SolveCommand& command,
                 const std::vector<SolveResult>& results,
                 Index columns) {
  const auto begun = static_cast<Index>(results.size());
  if (begun < columns) {
    command.note("columns {}..{} were not started: their solutions are 0", begun + 1, columns);
  }
  if (results.back().end == SolveEnd::kInterrupted) return kInterrupted;
  const bool converged = std::all_of(results.begin(), results.end(), [](const SolveResult& one) {
    return one.end == SolveEnd::kConverged;
  });
  if (converged) return kDone;
  command.note("the tolerance was not reached; the best x found is written");
  return kNumerical;
}

SolveOptions solver_options(const SolveCommand& command) {
  const auto options = options_from<SolveOptions>(command.solver.given());
  for (const auto& [name, value] : command.solver.given()) {
    const bool can_matter =
        options.solver == LinearSolver::kGmres || options.solver == LinearSolver::kAuto;
    require(name != "restart" || can_matter,
            "--restart has no effect with --solver {}",
            enum_name(options.solver));
  }
  return options;
}

void check_solve(const SolveCommand& command) {
  approximated(command);
  require(is_file(command.preconditioner) || command.preconditioner_of_option->count() == 0,
          "--preconditioner-of has no effect with --preconditioner {}",
          command.preconditioner);
  require(command.max_seconds > 0, "--max-seconds {} is not positive", command.max_seconds);
  require(!(command.input.path() == "-" && command.right_side == "-"),
          "the matrix and the right-hand side cannot both come from standard input");
  require(
      command.chart.empty() || command.chart.ends_with(".svg") || command.chart.ends_with(".png"),
      "--chart {}: the name must end with .svg or .png",
      command.chart);
  require(command.page != "-", "--report: the page is written to a file, not to standard output");
  if (!command.output.empty()) check_block_format(command.output);
}

int run_solve(const SolveCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("solve");
  const SolveOptions options = solver_options(command);
  check_solve(command);
  command.json.files()
      .reads(command.input.path())
      .reads(command.right_side)
      .reads(is_file(command.preconditioner) ? command.preconditioner : std::string())
      .replaces("-o", command.output)
      .writes("--report", command.page)
      .writes("--chart", command.chart);
  if (!command.page.empty() || !command.chart.empty()) check_gnuplot();
  const LoadedMatrix loaded = command.input.load(command.common.quiet());
  const LinearOperator& A = *loaded.matrix;
  const Matrix B = right_sides(command, A);
  const ChosenPreconditioner chosen = choose_preconditioner(command, A, options.shift);
  const std::vector<SolveResult> results = solve_columns(command, A, B, options, chosen.M.get());
  const Matrix X = solutions(results, B.rows(), B.cols());

  const bool to_stdout = command.output == "-";
  if (!command.output.empty() && !(to_stdout && command.json.replaces_text()))
    write_block(command.output, X);
  const report::SolutionContents contents{
      command.input.path(),
      fmt::format("{} x {}, {}", A.rows(), A.cols(), A.description()),
      command.right_side,
      chosen.text,
      options.tolerance,
      options.shift,
      results,
      invocation()};
  const std::exception_ptr undrawn = failure_of_drawing([&] { write_images(command, contents); });
  command.json.write(solution_json(command, A, options, chosen, results, X));
  if (!command.json.replaces_text() && !to_stdout) write_stdout(report::solution_table(contents));
  return report_drawing(exit_code_of(command, results, B.cols()), undrawn);
}

}  // namespace

void add_solve(const Command& program) {
  auto command = std::make_shared<SolveCommand>();
  const Command sub = program.add_command(
      "solve", "Solves A x = b iteratively, with a saved approximation as preconditioner");
  command->input.add(sub, "The matrix A, square");
  sub.add_option("right_side FILE",
                 command->right_side,
                 "b, a vector or a block of columns: .npy .mtx .csv .h5 or - for standard input")
      .required();
  sub.add_option("--preconditioner FILE.h5",
                 command->preconditioner,
                 "Preconditioner: none, jacobi (the diagonal), or a saved approximation [none]");
  command->preconditioner_of_option = sub.add_option(
      "--preconditioner-of",
      command->preconditioner_of,
      "What the saved preconditioner approximates: inverse, matrix (of low rank only) [inverse]");
  command->solver.add(sub, list_options(SolveOptions{}), "Solver");
  sub.under("Solver").add_option(
      "--max-seconds", command->max_seconds, "Time limit in seconds; the best x so far is written");
  sub.add_option("-o,--output FILE",
                 command->output,
                 "The solution x: .npy .mtx .csv .h5; - is CSV on standard output");
  sub.add_option("--report FILE.html", command->page, "Write an HTML report with the residuals");
  sub.add_option(
      "--chart FILE.svg|png", command->chart, "Draw a chart of residuals against iterations");
  command->add_basic(sub, false, true);
  sub.footer(
      "Examples:\n"
      "  matapprox approximate A.mtx truncated_svd --as inverse --rank 20 -o inverse.h5\n"
      "  matapprox solve A.mtx b.npy --preconditioner inverse.h5 -o x.npy\n"
      "  matapprox solve points.csv b.npy --as kernel --shift 0.1 --preconditioner kernel.h5 "
      "--preconditioner-of matrix");
  sub.action([command] { return run_solve(*command); });
}

}  // namespace matapprox::app
