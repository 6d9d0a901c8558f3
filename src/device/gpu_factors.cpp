#include "device/gpu_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <variant>

#include "core/overloaded.hpp"
#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox {
namespace {

constexpr Index kDoubleBytes = 8;
/// Estimated flops of an exponential, or of a root with an exponential.
constexpr double kFlopsOfAKernelFunction = 30;
/// Number of blocks on the GPU: input and output, and a copy of each in another layout.
constexpr Index kBlocksOfAProduct = 4;
/// Reciprocal of the share of a GPU's free memory that is left for libraries and the driver.
constexpr Index kShareLeft = 16;
/// Largest number of values streamed at a time: enough for the bus, little of a GPU's memory.
constexpr Index kMaxPieceNumbers = Index{1} << 23;

cuda::HostDense host_dense(const Matrix& A) { return {A.rows(), A.cols(), A.data()}; }

cuda::HostSparse host_sparse(const SparseMatrix& A) {
  return {A.rows(), A.cols(), A.outerIndexPtr(), A.innerIndexPtr(), A.valuePtr()};
}

/// Returns the matrix and, unless it is symmetric, its transpose, which `factors` then owns.
cuda::HostSparsePair host_sparse_pair(const SparseMatrix& A, bool symmetric, GpuFactors& factors) {
  const SparseMatrix* compressed = &A;
  if (!A.isCompressed()) {
    SparseMatrix& copy = factors.own_sparse.emplace_back(A);
    copy.makeCompressed();
    compressed = &copy;
  }
  cuda::HostSparsePair pair{host_sparse(*compressed), {}};
  if (!symmetric)
    pair.transposed = host_sparse(factors.own_sparse.emplace_back(compressed->transpose()));
  return pair;
}

cuda::HostKernel host_kernel(const KernelOperator& A, GpuFactors& factors) {
  const bool cosine = A.options().function == KernelFunction::kCosine;
  const Matrix& points =
      cosine ? factors.own_dense.emplace_back(unit_directions(A.points())) : A.points();
  const TileKernel kernel = tile_kernel(A.options(), points.cols());
  return {points.rows(),
          static_cast<int>(points.cols()),
          points.data(),
          {static_cast<cuda::KernelKind>(kernel.function),
           kernel.scale,
           kernel.offset,
           static_cast<int>(kernel.degree)}};
}

[[noreturn]] cuda::HostFactor refuse_placed() {
  throw NotAvailable("a factor on several processes cannot be on a GPU");
}

/// Converts one factor; a random projection becomes the dense matrix that its seed generates.
struct HostFactorMaker {
  GpuFactors& factors;
  Index piece_numbers;  ///< piece size of a Chord factor
  cuda::HostFactor operator()(const Matrix& F) const { return host_dense(F); }
  cuda::HostFactor operator()(const SparseMatrix& F) const {
    return host_sparse_pair(F, false, factors);
  }
  cuda::HostFactor operator()(const Vector& F) const {
    return cuda::HostDiagonal{F.size(), F.data()};
  }
  cuda::HostFactor operator()(const Permutation& F) const {
    return cuda::HostPermutation{F.rows(), F.sources().data()};
  }
  cuda::HostFactor operator()(const ChordFactors& F) const {
    return cuda::HostChord{F.pattern.order, F.pattern.offsets, F.values.data(), piece_numbers};
  }
  cuda::HostFactor operator()(const RandomProjection& F) const {
    return host_dense(factors.own_dense.emplace_back(F.columns(0, F.cols())));
  }
  template <class Other>
  cuda::HostFactor operator()(const Other&) const {
    throw NotAvailable("factors of this kind are multiplied on the CPU only: use --device cpu");
  }
  cuda::HostFactor operator()(const PlacedMatrix&) const { return refuse_placed(); }
  cuda::HostFactor operator()(const PlacedChord&) const { return refuse_placed(); }
};

Index sparse_gpu_bytes(const SparseMatrix& A, bool symmetric) {
  const Index both = symmetric ? 1 : 2;
  const Index index_bytes = std::max({A.nonZeros(), A.rows(), A.cols()}) < (Index{1} << 31) ? 4 : 8;
  return both * (A.nonZeros() * (kDoubleBytes + index_bytes) + A.rows() * index_bytes);
}

Index value_gpu_bytes(const FactorValue& value) {
  return std::visit(
      Overloaded{[](const SparseMatrix& F) { return sparse_gpu_bytes(F, false); },
                 [](const RandomProjection& F) { return F.rows() * F.cols() * kDoubleBytes; },
                 [](const ChordFactors& F) { return F.pattern.stored_numbers() * kDoubleBytes; },
                 [](const Permutation& F) { return F.rows() * Index{sizeof(Index)}; },
                 [&](const auto&) { return value_storage(value, Precision::kDouble).bytes; }},
      value);
}

/// The placement of the numbers of a product's factors.
struct ProductPlan {
  std::map<const FactorValue*, Index> pieces;  ///< HostChord::piece_numbers of each value
  Index gpu_bytes = 0;
  Index host_bytes = 0;
  Index longest = 1;
};

/// Returns the largest size of a factor: values are converted to the GPU's layout factor by factor.
Index most_bytes_of_a_factor(const ChordPattern& pattern) {
  std::size_t links = 0;
  for (const auto& offsets : pattern.offsets) links = std::max(links, offsets.size());
  return pattern.order * static_cast<Index>(links) * kDoubleBytes;
}

/// Places all other factors on the GPU, and Chord factors as long as there is room.
ProductPlan plan_product(const FactorProduct& A, Index gpu_free_bytes) {
  ProductPlan plan;
  std::vector<const FactorValue*> chains;
  for (const Factor& factor : A.factors()) {
    plan.longest = std::max({plan.longest, factor_rows(factor), factor_cols(factor)});
    const FactorValue* value = factor.value.get();
    if (!plan.pieces.emplace(value, 0).second) continue;
    if (std::holds_alternative<ChordFactors>(*value)) {
      chains.push_back(value);
    } else {
      plan.gpu_bytes += value_gpu_bytes(*value);
    }
  }
  const Index share = gpu_free_bytes / kShareLeft;
  const Index column = kBlocksOfAProduct * kDoubleBytes * plan.longest;
  for (const FactorValue* value : chains) {
    const Index bytes = value_gpu_bytes(*value);
    const Index work = most_bytes_of_a_factor(std::get<ChordFactors>(*value).pattern);
    if (plan.gpu_bytes + bytes + std::max(work, column) <= gpu_free_bytes - share) {
      plan.gpu_bytes += bytes;
    } else {
      plan.pieces[value] = std::clamp(share / kDoubleBytes, Index{1}, kMaxPieceNumbers);
      plan.host_bytes += bytes;
    }
  }
  return plan;
}

/// Returns the number of times a product sends streamed factors to the GPU: once for each piece of
/// a block that fits. GpuOperator uses four fifths of the free memory.
Index passes_of_a_block(const ProductPlan& plan, Index columns, Index gpu_free_bytes) {
  const Index column = kBlocksOfAProduct * kDoubleBytes * plan.longest;
  const Index room = (gpu_free_bytes - plan.gpu_bytes) / 5 * 4;
  const Index width = std::max(room / column, Index{1});
  return (columns + width - 1) / width;
}

GpuWork product_work(const FactorProduct& A, Index columns, Index gpu_free_bytes) {
  const ProductPlan plan = plan_product(A, gpu_free_bytes);
  GpuWork work;
  work.gpu_bytes = plan.gpu_bytes;
  work.host_bytes = plan.host_bytes;
  work.longest = plan.longest;
  const double times = A.symmetrized() ? 2 : 1;
  const auto passes = static_cast<double>(passes_of_a_block(plan, columns, gpu_free_bytes));
  for (const Factor& factor : A.factors()) {
    const auto bytes = static_cast<double>(value_gpu_bytes(*factor.value));
    work.read += times * bytes;
    // A projection is generated once and stored.
    const double multiplications = std::holds_alternative<RandomProjection>(*factor.value)
                                       ? bytes / static_cast<double>(kDoubleBytes)
                                       : value_multiplications(*factor.value);
    work.flops += times * 2 * multiplications * static_cast<double>(columns);
    if (plan.pieces.at(factor.value.get()) > 0) work.streamed += passes * times * bytes;
  }
  return work;
}

void add_factors(const FactorProduct& A, Index gpu_free_bytes, GpuFactors& factors) {
  const ProductPlan plan = plan_product(A, gpu_free_bytes);
  std::map<const FactorValue*, Index> seen;
  factors.symmetrized = A.symmetrized();
  for (const Factor& factor : A.factors()) {
    const auto next = static_cast<Index>(factors.factors.size());
    const auto [at, fresh] = seen.emplace(factor.value.get(), next);
    if (fresh) {
      factors.factors.push_back(
          {std::visit(HostFactorMaker{factors, plan.pieces.at(factor.value.get())}, *factor.value),
           factor.transposed,
           -1});
    } else {
      factors.factors.push_back({cuda::HostFactor{}, factor.transposed, at->second});
    }
  }
}

GpuWork kernel_work(const KernelOperator& A, Index columns) {
  const auto n = static_cast<double>(A.rows());
  const auto d = static_cast<double>(A.points().cols());
  const double entry = 3 * d + kFlopsOfAKernelFunction + 2 * static_cast<double>(columns);
  const Index bytes = A.points().size() * kDoubleBytes;
  return {n * n * entry, static_cast<double>(bytes), bytes, 0, 0, A.rows()};
}

GpuWork stored_work(const LinearOperator& A, Index columns, Index bytes) {
  return {2 * A.cost().multiplications_per_apply * static_cast<double>(columns),
          static_cast<double>(bytes),
          bytes,
          0,
          0,
          std::max(A.rows(), A.cols())};
}

/// Returns the compressed columns of A: the compressed rows of its transpose.
cuda::HostSparse compressed_columns(const cuda::HostSparsePair& A) {
  return A.transposed.row_starts == nullptr ? A.matrix : A.transposed;
}

}  // namespace

GpuFactors gpu_factors(const LinearOperator& A, Index gpu_free_bytes) {
  GpuFactors factors;
  const auto add = [&](cuda::HostFactor factor) { factors.factors.push_back({std::move(factor)}); };
  std::visit(Overloaded{[&](const DenseOperator* dense) { add(host_dense(dense->values())); },
                        [&](const SparseOperator* sparse) {
                          const bool symmetric = sparse->equals_transpose();
                          add(host_sparse_pair(sparse->values(), symmetric, factors));
                        },
                        [&](const KernelOperator* kernel) { add(host_kernel(*kernel, factors)); },
                        [&](const FactorProduct* product) {
                          add_factors(*product, gpu_free_bytes, factors);
                        },
                        [](const auto&) {}},
             stored_as(A));
  return factors;
}

std::optional<GpuWork> gpu_work(const LinearOperator& A, Index columns, Index gpu_free_bytes) {
  using Work = std::optional<GpuWork>;
  return std::visit(
      Overloaded{
          [&](const DenseOperator* dense) -> Work {
            return stored_work(A, columns, dense->values().size() * kDoubleBytes);
          },
          [&](const SparseOperator* sparse) -> Work {
            const bool symmetric = sparse->equals_transpose();
            return stored_work(A, columns, sparse_gpu_bytes(sparse->values(), symmetric));
          },
          [&](const KernelOperator* kernel) -> Work { return kernel_work(*kernel, columns); },
          [&](const FactorProduct* product) -> Work {
            return product_work(*product, columns, gpu_free_bytes);
          },
          [](const auto&) -> Work { return std::nullopt; }},
      stored_as(A));
}

std::string streaming_note(Index host_bytes) {
  if (host_bytes == 0) return {};
  return fmt::format(
      "the GPU has no room for {:.3g} GB of factors: they stay on the host and are streamed at "
      "each product",
      static_cast<double>(host_bytes) / 1e9);
}

GpuChordTarget gpu_chord_target(const ChordTarget& target) {
  GpuChordTarget result;
  const bool is_kernel = kernel_matrix(target.matrix) != nullptr;
  const bool is_sparse = sparse_values(target.matrix) != nullptr;
  if ((is_kernel || is_sparse) && !target.ordered) {
    result.factors = gpu_factors(target.matrix.underlying());
    result.counter = counter_of(target.matrix);
    const cuda::HostFactor& factor = result.factors.factors.front().factor;
    if (is_kernel) {
      result.source = cuda::ChordKernel{std::get<cuda::HostKernel>(factor), target.unit};
    } else {
      result.source = cuda::ChordSparse{compressed_columns(std::get<cuda::HostSparsePair>(factor)),
                                        target.unit};
    }
  } else {
    result.source = [columns = target.columns](const Index* J, Index count, double* panel) {
      columns({J, static_cast<std::size_t>(count)}, panel);
    };
  }
  return result;
}

}  // namespace matapprox
