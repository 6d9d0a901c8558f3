#include "input_block.hpp"

#include <fmt/format.h>

#include <utility>

#include "command_line/shared_options.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox::app {

Matrix read_block(const std::string& path, const std::string& variable, Index rows, bool quiet) {
  LoadOptions options;
  options.variable = variable;
  const LoadedMatrix loaded = load(path, options);
  for (const std::string& text : loaded.notes) note(quiet, fmt::format("{}: {}", path, text));
  const LinearOperator& X = *loaded.matrix;
  require_memory(8.0 * static_cast<double>(X.rows()) * static_cast<double>(X.cols()), path);
  Matrix block = X.columns_at(index_range(0, X.cols()));
  if (block.rows() != rows && block.rows() == 1 && block.cols() == rows) block.transposeInPlace();
  return block;
}

report::Json values_json(const Matrix& block) {
  report::Json rows = report::Json::array();
  for (Index i = 0; i < block.rows(); ++i) {
    report::Json row = report::Json::array();
    for (Index j = 0; j < block.cols(); ++j) row.push_back(report::number_or_null(block(i, j)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace matapprox::app
