#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

constexpr std::align_val_t kLine{64};
/// Tall products are summed over stretches of rows, so that all threads have work; long elementwise
/// operations are divided into chunks. Both have fixed lengths, so that the order of the sums is
/// fixed.
constexpr Index kStretch = 32768;
constexpr Index kNumbersInChunk = 8192;

using ConstColumns = Eigen::Map<const Matrix>;
using Columns = Eigen::Map<Matrix>;

template <class Work>
void for_chunks(Index count, const Work& work) {
  parallel_for((count + kNumbersInChunk - 1) / kNumbersInChunk, [&](Index chunk) {
    const Index first = chunk * kNumbersInChunk;
    work(first, std::min(kNumbersInChunk, count - first));
  });
}

class HostSpace final : public MemorySpace {
 public:
  bool on_host() const override { return true; }

  double* allocate(Index rows, Index cols) const override {
    const auto bytes = sizeof(double) * static_cast<std::size_t>(rows * cols);
    return static_cast<double*>(::operator new(bytes, kLine));
  }
  void release(double* numbers) const noexcept override { ::operator delete(numbers, kLine); }
  void write(const double* host, Index count, double* to) const override {
    std::copy_n(host, count, to);
  }
  void read(const double* from, Index count, double* host) const override {
    std::copy_n(from, count, host);
  }
  void copy(const double* from, Index count, double* to) const override {
    std::copy_n(from, count, to);
  }
  void zero(double* numbers, Index count) const override { std::fill_n(numbers, count, 0.0); }
  void fill_normal(std::uint64_t seed,
                   RandomStream stream,
                   Index first_column,
                   Index n,
                   Index a,
                   double* X) const override {
    matapprox::fill_normal(seed, stream, Columns(X, n, a), 0, first_column);
  }

  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override {
    const ConstColumns left(A, n, a);
    const ConstColumns right(B, n, b);
    const Index stretches = (n + kStretch - 1) / kStretch;
    if (stretches <= 1) return kernels::transpose_product(left, right);
    std::vector<Matrix> parts(static_cast<std::size_t>(stretches));
    parallel_for(stretches, [&](Index s) {
      const Index first = s * kStretch;
      const Index count = std::min(kStretch, n - first);
      parts[static_cast<std::size_t>(s)] =
          kernels::transpose_product(left.middleRows(first, count), right.middleRows(first, count));
    });
    Matrix sum = std::move(parts.front());
    for (std::size_t s = 1; s < parts.size(); ++s) sum += parts[s];
    return sum;
  }

  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override {
    kernels::gemm(kernels::Trans::kNo,
                  ConstColumns(A, n, a),
                  kernels::Trans::kNo,
                  S,
                  Columns(Y, n, S.cols()),
                  alpha,
                  beta);
  }

  Vector column_norms(Index n, const double* A, Index a) const override {
    return ConstColumns(A, n, a).colwise().norm().transpose();
  }

  double largest(const double* numbers, Index count) const override {
    const Index chunks = (count + kNumbersInChunk - 1) / kNumbersInChunk;
    Vector parts = Vector::Zero(std::max<Index>(chunks, 1));
    for_chunks(count, [&](Index first, Index size) {
      parts(first / kNumbersInChunk) = Eigen::Map<const Vector>(numbers + first, size)
                                           .cwiseAbs()
                                           .maxCoeff<Eigen::PropagateNaN>();
    });
    return parts.maxCoeff<Eigen::PropagateNaN>();
  }

  void scale(double* numbers, Index count, double factor) const override {
    for_chunks(count, [&](Index first, Index size) {
      Eigen::Map<Vector>(numbers + first, size) *= factor;
    });
  }
};

}  // namespace

const std::shared_ptr<const MemorySpace>& host_space() {
  static const std::shared_ptr<const MemorySpace> space = std::make_shared<HostSpace>();
  return space;
}

}  // namespace matapprox
