#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "command_parts.hpp"
#include "commands.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox::app {
namespace {

struct ApplyCommand {
  std::string saved;
  std::string block;
  std::string variable;
  std::string output = "-";
  bool transpose = false;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

/// Reads the block and checks that it has `rows` rows.
Matrix checked_block(const ApplyCommand& command, Index rows) {
  Matrix block = read_block(command.block, command.variable, rows, command.common.quiet());
  require(block.rows() == rows,
          "{} is {} x {}; {} ({}) multiplies blocks of {} rows",
          command.block,
          block.rows(),
          block.cols(),
          command.saved,
          command.transpose ? "transposed" : "not transposed",
          rows);
  return block;
}

int run_apply(const ApplyCommand& command) {
  command.common.apply();
  command.device.check();
  check_block_format(command.output);
  command.json.files().reads(command.saved).reads(command.block).replaces("-o", command.output);
  const SavedApproximation saved = load_approximation(command.saved);
  const Approximation& B = saved.approximation;
  const Matrix X = checked_block(command, command.transpose ? B.rows() : B.cols());
  const auto placed =
      command.device.place(std::make_shared<FactorProduct>(B), command.common.quiet()).matrix;
  const auto start = std::chrono::steady_clock::now();
  const Matrix Y = command.transpose ? placed->apply_transpose(X) : placed->apply(X);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const bool to_stdout = command.output == "-";
  report::Json json = report::document_head(B.summary.seed, threads());
  json["saved"] = command.saved;
  json["method"] = B.summary.method;
  json["transpose"] = command.transpose;
  json["rows"] = Y.rows();
  json["cols"] = Y.cols();
  json["seconds"] = seconds;
  if (!(to_stdout && command.json.replaces_text())) write_block(command.output, Y);
  json["output"] =
      to_stdout ? report::Json(nullptr) : report::Json(actual_output_path(command.output));
  json["values"] = to_stdout ? values_json(Y) : report::Json(nullptr);
  command.json.write(json);
  return kDone;
}

}  // namespace

void add_apply(const Command& program) {
  auto command = std::make_shared<ApplyCommand>();
  const Command sub = program.add_command(
      "apply", "Multiplies a vector or a block of columns by a saved approximation");
  sub.add_option("saved", command->saved, "A saved approximation").required().type_name("FILE.h5");
  sub.add_option(
         "block", command->block, "Vector or block: .npy .mtx .csv .h5 or - for standard input")
      .required()
      .type_name("FILE");
  sub.add_option("-o,--output",
                 command->output,
                 "Result: .npy .mtx .csv .h5; - is CSV on standard output [-]")
      .type_name("FILE");
  sub.add_option("--variable", command->variable, "Name of the array in the block's file")
      .type_name("");
  sub.add_flag("--transpose", command->transpose, "Multiply by the transpose");
  command->common.add(sub, false);
  command->device.add(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox apply chord.h5 x.npy -o y.npy\n"
      "  matapprox apply chord.h5 - --transpose < x.csv");
  sub.action([command] { return run_apply(*command); });
}

}  // namespace matapprox::app
