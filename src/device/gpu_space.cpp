#include "device/gpu_space.hpp"

namespace matapprox {
namespace {

class GpuSpace final : public MemorySpace {
 public:
  explicit GpuSpace(std::shared_ptr<const cuda::GpuBlocks> blocks) : blocks_(std::move(blocks)) {}

  bool on_host() const override { return false; }
  double* allocate(Index count) const override { return blocks_->allocate(count); }
  void release(double* numbers) const noexcept override { blocks_->release(numbers); }
  void write(const double* host, Index count, double* to) const override {
    blocks_->write(host, count, to);
  }
  void read(const double* from, Index count, double* host) const override {
    blocks_->read(from, count, host);
  }
  void copy(const double* from, Index count, double* to) const override {
    blocks_->copy(from, count, to);
  }
  void zero(double* numbers, Index count) const override { blocks_->zero(numbers, count); }

  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override {
    Matrix result(a, b);
    blocks_->transpose_product(n, A, a, B, b, result.data());
    return result;
  }
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override {
    const Matrix small = S;
    blocks_->add_product(n, alpha, A, a, small.data(), small.cols(), beta, Y);
  }
  Vector column_norms(Index n, const double* A, Index a) const override {
    Vector squares(a);
    blocks_->column_squares(n, A, a, squares.data());
    return squares.cwiseSqrt();
  }
  double largest(const double* numbers, Index count) const override {
    return blocks_->largest(numbers, count);
  }
  void scale(double* numbers, Index count, double factor) const override {
    blocks_->scale(numbers, count, factor);
  }
  void adam(const Adam& step,
            const double* gradient,
            Index count,
            double* mean,
            double* square,
            double* x) const override {
    blocks_->adam(
        {step.mean_decay, step.square_decay, step.mean_step, step.square_scale, step.epsilon},
        gradient,
        count,
        mean,
        square,
        x);
  }

 private:
  std::shared_ptr<const cuda::GpuBlocks> blocks_;
};

}  // namespace

std::shared_ptr<const MemorySpace> make_gpu_space(std::shared_ptr<const cuda::GpuBlocks> blocks) {
  return std::make_shared<GpuSpace>(std::move(blocks));
}

}  // namespace matapprox
