#include "command_parts.hpp"

namespace matapprox::app {
namespace {

struct ApplyCommand : BasicOptions {
  std::string saved;
  std::string block;
  std::string variable;
  std::string output = "-";
  bool transpose = false;
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
  const Stopwatch clock;
  const Matrix Y = command.transpose ? placed->apply_transpose(X) : placed->apply(X);
  const double seconds = clock.seconds();

  report::Json json = report::document_head(B.summary.seed, threads());
  json["saved"] = command.saved;
  json["method"] = B.summary.method;
  json["transpose"] = command.transpose;
  json["rows"] = Y.rows();
  json["cols"] = Y.cols();
  json["seconds"] = seconds;
  if (!(command.output == "-" && command.json.replaces_text())) write_block(command.output, Y);
  add_output(json, command.output, Y);
  command.json.write(json);
  return kDone;
}

}  // namespace

void add_apply(const Command& program) {
  auto command = std::make_shared<ApplyCommand>();
  const Command sub = program.add_command(
      "apply", "Multiplies a vector or a block of columns by a saved approximation");
  sub.add_option("saved FILE.h5", command->saved, "A saved approximation").required();
  sub.add_option("block FILE",
                 command->block,
                 "Vector or block: .npy .mtx .csv .h5 or - for standard input")
      .required();
  sub.add_option("-o,--output FILE",
                 command->output,
                 "Result: .npy .mtx .csv .h5; - is CSV on standard output [-]");
  sub.add_option("--variable", command->variable, "Name of the array in the block's file");
  sub.add_flag("--transpose", command->transpose, "Multiply by the transpose");
  command->add_basic(sub, false);
  sub.footer(
      "Examples:\n"
      "  matapprox apply chord.h5 x.npy -o y.npy\n"
      "  matapprox apply chord.h5 - --transpose < x.csv");
  sub.action([command] { return run_apply(*command); });
}

}  // namespace matapprox::app
