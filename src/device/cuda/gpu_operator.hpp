#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/gpu_cholesky.hpp"
#include "device/cuda/gpu_space.hpp"
#include "device/cuda/kernel_factors.hpp"
#include "device/gpu_factors.hpp"
#include "device/placed_operator.hpp"

namespace matapprox::cuda {

/// F_1 F_2 ... F_p, or (Z + Z^T)/2 with Z that product, on a GPU. A product may take four fifths of
/// the free memory: wider blocks are processed in pieces of whole columns, at least one column
/// each.
template <class Gpu>
class GpuOperator final : public PlacedOperator {
 public:
  /// Copies the numbers of `factors`, which are the factors of `source`.
  GpuOperator(std::shared_ptr<const LinearOperator> source,
              const GpuFactors& factors,
              std::shared_ptr<const GpuSpace<Gpu>> space)
      : PlacedOperator(std::move(source)),
        gpu_(space->gpu()),
        space_(std::move(space)),
        symmetrized_(factors.symmetrized) {
    for (const DeviceFactor& factor : factors.factors) {
      std::shared_ptr<const GpuFactor> own;
      if (factor.same_as >= 0) {
        own = factors_[static_cast<std::size_t>(factor.same_as)].factor;
      } else {
        own = std::visit(MakeFactor{gpu_}, factor.factor);
      }
      longest_ = std::max({longest_, own->rows(), own->cols()});
      factors_.push_back({std::move(own), factor.transposed});
    }
    queue().wait();
  }

  const std::shared_ptr<const MemorySpace>& memory_space() const override { return space_; }

  std::unique_ptr<PartialCholesky> cholesky(Index max_columns,
                                            const CountedOperator* counter) const override {
    if (!is_kernel()) return nullptr;
    return gpu_.alone([&] {
      return std::make_unique<GpuCholesky<Gpu>>(
          gpu_, *factors_.front().factor, max_columns, counter);
    });
  }

 private:
  using Queue = typename Gpu::Queue;

  struct PlacedFactor {
    std::shared_ptr<const GpuFactor> factor;
    bool transposed = false;

    Index in(bool then_transposed) const {
      return transposed == then_transposed ? factor->cols() : factor->rows();
    }
  };

  struct MakeFactor {
    const Gpu& gpu;
    std::shared_ptr<const GpuFactor> operator()(const HostDense& F) const {
      return std::make_shared<DenseFactor<Queue>>(gpu.queue(), F);
    }
    std::shared_ptr<const GpuFactor> operator()(const HostSparsePair& F) const {
      return gpu.sparse_factor(F);
    }
    std::shared_ptr<const GpuFactor> operator()(const HostDiagonal& F) const {
      return std::make_shared<DiagonalFactor<Queue>>(gpu.queue(), F);
    }
    std::shared_ptr<const GpuFactor> operator()(const HostPermutation& F) const {
      return std::make_shared<PermutationFactor<Queue>>(gpu.queue(), F);
    }
    std::shared_ptr<const GpuFactor> operator()(const HostChord& F) const {
      return make_chord_factor(gpu.queue(), F);
    }
    std::shared_ptr<const GpuFactor> operator()(const HostKernel& F) const {
      return std::make_shared<KernelFactor<Queue>>(gpu.queue(), F);
    }
  };

  /// A block between two factors, without gaps, and a spare array of the same size.
  struct PingPongBuffer {
    double* numbers;
    double* spare;
    bool row_major = false;
  };

  void do_apply(const ConstBlock& X, Block Y) const override { apply_host(false, X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { apply_host(true, X, Y); }

  void apply_host(bool transposed, const ConstBlock& X, Block& Y) const {
    for_pieces(X.cols(), numbers_of_a_column(), [&](Index first, Index count) {
      auto a = array(longest_ * count);
      auto b = array(longest_ * count);
      PingPongBuffer block{a.data(), b.data()};
      for_columns(X.rows(), count, X.outerStride(), [&](Index c, Index size) {
        queue().upload(X.col(first + c).data(), size, block.numbers + c * X.rows());
      });
      multiply(block, count, transposed);
      assign_slots(block, Y.rows(), count, false);
      download(block.numbers, Y.middleCols(first, count));
    });
  }

  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override {
    for_pieces(X.cols, numbers_of_a_column(), [&](Index first, Index count) {
      auto a = array(longest_ * count);
      auto b = array(longest_ * count);
      PingPongBuffer block{a.data(), b.data(), first_factor(transposed).row_major()};
      copy(X.data + first * X.rows, false, block.numbers, block.row_major, X.rows, count);
      multiply(block, count, transposed);
      copy(block.numbers, block.row_major, Y.data + first * Y.rows, false, Y.rows, count);
    });
  }

  void kernel_columns(std::span<const Index> J, Block Y) const override {
    const GpuFactor& kernel = *factors_.front().factor;
    for_pieces(Y.cols(), Y.rows(), [&](Index first, Index count) {
      const auto chosen = copied(queue(), J.data() + first, count);
      auto out = array(Y.rows() * count);
      kernel.kernel_columns(chosen.data(), count, out.data());
      download(out.data(), Y.middleCols(first, count));
    });
  }

  /// Calls work(first, count), with exclusive use of the GPU, for as many columns as fit at a time.
  template <class Work>
  void for_pieces(Index columns, Index numbers_of_a_column, const Work& work) const {
    gpu_.alone([&] {
      const Index room = gpu_.free_bytes() / 5 * 4 / Index{sizeof(double)};
      const Index width = std::max<Index>(room / numbers_of_a_column, 1);
      for (Index first = 0; first < columns; first += width)
        work(first, std::min(width, columns - first));
    });
  }

  /// Calls work(column, numbers) for contiguous parts of a column-major block: once without gaps.
  template <class Work>
  static void for_columns(Index rows, Index columns, Index stride, const Work& work) {
    if (stride == rows) return work(0, rows * columns);
    for (Index c = 0; c < columns; ++c) work(c, rows);
  }

  void download(const double* from, Block Y) const {
    for_columns(Y.rows(), Y.cols(), Y.outerStride(), [&](Index c, Index size) {
      queue().download(from + c * Y.rows(), size, Y.col(c).data());
    });
  }

  /// Two blocks, and two more if the product and its transpose are averaged.
  Index numbers_of_a_column() const { return (symmetrized_ ? 4 : 2) * longest_; }

  const GpuFactor& first_factor(bool transposed) const {
    return transposed ? *factors_.front().factor : *factors_.back().factor;
  }

  /// Multiplies the block by the whole operator.
  void multiply(PingPongBuffer& block, Index columns, bool transposed) const {
    if (!symmetrized_) return multiply_by_factors(block, columns, transposed);
    auto a = array(longest_ * columns);
    auto b = array(longest_ * columns);
    assign_slots(block, rows(), columns, first_factor(false).row_major());
    PingPongBuffer mirrored{a.data(), b.data(), block.row_major};
    queue().copy(block.numbers, rows() * columns, mirrored.numbers);
    multiply_by_factors(block, columns, false);
    multiply_by_factors(mirrored, columns, true);
    assign_slots(mirrored, rows(), columns, block.row_major);
    queue().run(Average<double>{mirrored.numbers, block.numbers, rows() * columns});
  }

  void multiply_by_factors(PingPongBuffer& block, Index columns, bool transposed) const {
    const std::size_t count = factors_.size();
    for (std::size_t step = 0; step < count; ++step) {
      const PlacedFactor& next = factors_[transposed ? step : count - 1 - step];
      assign_slots(block, next.in(transposed), columns, next.factor->row_major());
      const double* result =
          next.factor->multiply(block.numbers, block.spare, columns, next.transposed != transposed);
      if (result == block.spare) std::swap(block.numbers, block.spare);
    }
  }

  void assign_slots(PingPongBuffer& block, Index rows, Index columns, bool row_major) const {
    if (block.row_major == row_major) return;
    copy(block.numbers, block.row_major, block.spare, row_major, rows, columns);
    std::swap(block.numbers, block.spare);
    block.row_major = row_major;
  }

  /// Copies a block from one layout to another.
  void copy(const double* from,
            bool from_row_major,
            double* to,
            bool to_row_major,
            Index rows,
            Index columns) const {
    if (from_row_major == to_row_major) return queue().copy(from, rows * columns, to);
    // A row-major block is a column-major block of the transpose.
    if (from_row_major) std::swap(rows, columns);
    queue().run(BlockTranspose<double>{from, to, rows, columns});
  }

  const Queue& queue() const { return gpu_.queue(); }
  auto array(Index size) const { return queue().template array<double>(size); }

  const Gpu& gpu_;
  std::shared_ptr<const MemorySpace> space_;
  std::vector<PlacedFactor> factors_;
  bool symmetrized_;
  Index longest_ = 1;
};

}  // namespace matapprox::cuda
