#include "io/input_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"

namespace matapprox {

namespace {

using OperatorPointer = std::shared_ptr<const LinearOperator>;

Matrix take_dense(const std::string& path, Source& source) {
  if (auto* A = std::get_if<Matrix>(&source.matrix)) return std::move(*A);
  const auto& A = std::get<SparseMatrix>(source.matrix);
  require_memory(8.0 * static_cast<double>(A.rows()) * static_cast<double>(A.cols()), path);
  return Matrix(A);
}

SparseMatrix take_sparse(Source& source) {
  SparseMatrix A;
  if (auto* stored = std::get_if<SparseMatrix>(&source.matrix)) {
    A.swap(*stored);  // Eigen 3.4 would copy in a move
    return A;
  }
  A = std::get<Matrix>(source.matrix).sparseView(0.0, 0.0);
  A.makeCompressed();
  return A;
}

OperatorPointer as_matrix(Source& source) {
  if (auto* A = std::get_if<SparseMatrix>(&source.matrix)) {
    return std::make_shared<SparseOperator>(std::move(*A));
  }
  return std::make_shared<DenseOperator>(std::move(std::get<Matrix>(source.matrix)),
                                         source.is_image ? "image" : "dense");
}

OperatorPointer as_image(const std::string& path, Source& source, InputKind kind) {
  require(std::holds_alternative<Matrix>(source.matrix),
          "{}: a sparse matrix is not an image; '{}' applies to images and dense matrices",
          path,
          enum_name(kind));
  const Matrix image = take_dense(path, source);
  if (kind == InputKind::kGradient) {
    return std::make_shared<DenseOperator>(gradient_magnitude(image), "image gradient magnitude");
  }
  return std::make_shared<DenseOperator>(clipped_laplacian(image), "clipped image Laplacian");
}

OperatorPointer as_graph(const std::string& path, Source& source, InputKind kind) {
  SparseMatrix A = take_sparse(source);
  require(A.rows() == A.cols(),
          "{}: the matrix is {} x {}; an adjacency matrix must be square",
          path,
          A.rows(),
          A.cols());
  if (kind == InputKind::kAdjacency) {
    return std::make_shared<SparseOperator>(std::move(A), "graph adjacency");
  }
  if (kind == InputKind::kLaplacian) {
    return std::make_shared<SparseOperator>(graph_laplacian(A), "graph Laplacian");
  }
  return std::make_shared<SparseOperator>(normalized_laplacian(A), "normalized graph Laplacian");
}

/// Returns the column numbers of "0,5,last", ascending and without duplicates.
std::vector<Index> parse_columns(const std::string& path, const std::string& text, Index cols) {
  std::vector<Index> result;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string item = text.substr(start, end - start);
    Index column = cols - 1;
    if (item != "last") {
      const char* const stop = item.data() + item.size();
      const auto [parsed, code] = std::from_chars(item.data(), stop, column);
      require(code == std::errc{} && parsed == stop && column >= 0 && column < cols,
              "{}: skip_columns: '{}' is not 'last' or a column in 0..{}",
              path,
              item,
              cols - 1);
    }
    result.push_back(column);
    start = end + 1;
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Returns the table without the skipped columns.
Matrix take_table(const std::string& path, Source& source, const LoadOptions& options) {
  Matrix table = take_dense(path, source);
  if (options.skip_columns.empty()) return table;
  const std::vector<Index> skipped = parse_columns(path, options.skip_columns, table.cols());
  require(static_cast<Index>(skipped.size()) < table.cols(),
          "{}: skip_columns leaves none of the {} columns",
          path,
          table.cols());
  Index next = 0;
  for (Index j = 0; j < table.cols(); ++j) {
    if (std::binary_search(skipped.begin(), skipped.end(), j)) continue;
    if (next != j) table.col(next) = table.col(j);
    ++next;
  }
  table.conservativeResize(table.rows(), next);
  source.notes.push_back(fmt::format("columns left out: {}", fmt::join(skipped, ", ")));
  return table;
}

KernelFunction kernel_named(const std::string& name) {
  const auto& names = EnumNames<KernelFunction>::values;
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<KernelFunction>(found - names.begin());
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string nearest = nearest_name(name, known);
  throw InvalidArgument(
      fmt::format("kernel: unknown function '{}'{}; known functions: {}",
                  name,
                  nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                  fmt::join(known, ", ")));
}

OperatorPointer as_kernel(const std::string& path, Source& source, const LoadOptions& options) {
  const KernelOptions kernel_options{
      kernel_named(options.kernel), options.bandwidth, options.degree, options.offset};
  auto kernel = std::make_shared<KernelOperator>(take_table(path, source, options), kernel_options);
  if (options.bandwidth == 0 && kernel->bandwidth() > 0) {
    source.notes.push_back(fmt::format("bandwidth {:.6g} by the median rule", kernel->bandwidth()));
  }
  return kernel;
}

}  // namespace

void check_effect(const std::string& path, const LoadOptions& options, std::string_view name) {
  const InputKind kind = options.kind;
  const bool of_kernels =
      name == "kernel" || name == "bandwidth" || name == "degree" || name == "offset";
  require(kind == InputKind::kKernel || !of_kernels,
          "{}: kernel, bandwidth, degree and offset apply to kernel matrices, not to '{}'",
          path,
          enum_name(kind));
  require(name != "skip_columns" || kind == InputKind::kKernel || kind == InputKind::kCovariance ||
              kind == InputKind::kCorrelation,
          "{}: skip_columns applies to kernel, covariance and correlation, not to '{}'",
          path,
          enum_name(kind));
  if (!of_kernels || name == "kernel") return;
  const KernelFunction function = kernel_named(options.kernel);
  const bool polynomial = function == KernelFunction::kPolynomial;
  require(name == "bandwidth" || polynomial,
          "{}: {} applies to the polynomial kernel, not to the {} kernel",
          path,
          name,
          options.kernel);
  require(name != "bandwidth" || (!polynomial && function != KernelFunction::kLinear &&
                                  function != KernelFunction::kCosine),
          "{}: bandwidth applies to kernels of the distance, not to the {} kernel",
          path,
          options.kernel);
}

void check_kind_options(const std::string& path, const LoadOptions& options) {
  const std::vector<OptionText> defaults = list_options(LoadOptions{});
  const std::vector<OptionText> chosen = list_options(options);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k].value != defaults[k].value) check_effect(path, options, chosen[k].name);
  }
  if (options.kind == InputKind::kKernel) kernel_named(options.kernel);
}

OperatorPointer make_operator(const std::string& path, Source& source, const LoadOptions& options) {
  if (source.ready) {
    require(options.kind == InputKind::kMatrix,
            "{}: a saved approximation is used as it is, not as '{}'",
            path,
            enum_name(options.kind));
    return source.ready;
  }
  switch (options.kind) {
    case InputKind::kMatrix:
      return as_matrix(source);
    case InputKind::kGradient:
    case InputKind::kImageLaplacian:
      return as_image(path, source, options.kind);
    case InputKind::kAdjacency:
    case InputKind::kLaplacian:
    case InputKind::kNormalizedLaplacian:
      return as_graph(path, source, options.kind);
    case InputKind::kKernel:
      return as_kernel(path, source, options);
    case InputKind::kCovariance:
    case InputKind::kCorrelation:
      return std::make_shared<CovarianceOperator>(take_table(path, source, options),
                                                  options.kind == InputKind::kCorrelation);
    case InputKind::kInverse:
      return inverse_operator(take_sparse(source));
  }
  throw InvalidArgument(path + ": unknown kind of input");
}

}  // namespace matapprox
