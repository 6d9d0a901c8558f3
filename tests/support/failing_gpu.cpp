#include "support/failing_gpu.hpp"

#include <utility>

#include "matapprox/core/error.hpp"
#include "support/host_gpu.hpp"

namespace matapprox::test {
namespace {

class Calls {
 public:
  explicit Calls(Index left) : left_(left) {}
  void take() {
    if (left_ == 0) throw NotAvailable("the GPU is lost");
    --left_;
  }

 private:
  Index left_;
};

class FailingSpace final : public MemorySpace {
 public:
  FailingSpace(std::shared_ptr<const MemorySpace> inner, std::shared_ptr<Calls> calls)
      : inner_(std::move(inner)), calls_(std::move(calls)) {}

  bool on_host() const override { return false; }
  double* allocate(Index rows, Index cols) const override { return sound().allocate(rows, cols); }
  void release(double* numbers) const noexcept override { inner_->release(numbers); }
  void write(const double* host, Index count, double* to) const override {
    sound().write(host, count, to);
  }
  void read(const double* from, Index count, double* host) const override {
    sound().read(from, count, host);
  }
  void copy(const double* from, Index count, double* to) const override {
    sound().copy(from, count, to);
  }
  void zero(double* numbers, Index count) const override { sound().zero(numbers, count); }
  void fill_normal(std::uint64_t seed,
                   RandomStream stream,
                   Index first_column,
                   Index n,
                   Index a,
                   double* X) const override {
    sound().fill_normal(seed, stream, first_column, n, a, X);
  }
  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override {
    return sound().transpose_product(n, A, a, B, b);
  }
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override {
    sound().add_product(n, alpha, A, a, S, beta, Y);
  }
  Vector column_norms(Index n, const double* A, Index a) const override {
    return sound().column_norms(n, A, a);
  }
  double largest(const double* numbers, Index count) const override {
    return sound().largest(numbers, count);
  }
  void scale(double* numbers, Index count, double factor) const override {
    sound().scale(numbers, count, factor);
  }
  void adam(const Adam& step,
            const double* gradient,
            Index count,
            double* mean,
            double* square,
            double* x) const override {
    sound().adam(step, gradient, count, mean, square, x);
  }

 private:
  const MemorySpace& sound() const {
    calls_->take();
    return *inner_;
  }

  std::shared_ptr<const MemorySpace> inner_;
  std::shared_ptr<Calls> calls_;
};

class FailingObjective final : public DeviceChordObjective {
 public:
  FailingObjective(std::unique_ptr<DeviceChordObjective> inner, Index calls)
      : inner_(std::move(inner)),
        calls_(std::make_shared<Calls>(calls)),
        space_(std::make_shared<FailingSpace>(inner_->space(), calls_)) {}
  const std::shared_ptr<const MemorySpace>& space() const override { return space_; }
  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    calls_->take();
    return inner_->evaluate(J, values, gradient);
  }

 private:
  std::unique_ptr<DeviceChordObjective> inner_;
  std::shared_ptr<Calls> calls_;
  std::shared_ptr<const MemorySpace> space_;
};

}  // namespace

ChordObjectiveMaker failing_gpu(Index calls) {
  return [calls](const ChordPattern& pattern, Index max_columns, const ChordTarget& target) {
    return std::make_unique<FailingObjective>(host_gpu_objective(pattern, max_columns, target),
                                              calls);
  };
}

}  // namespace matapprox::test
