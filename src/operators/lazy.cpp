#include "matapprox/operators/lazy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "matapprox/core/require.hpp"

namespace matapprox {

namespace {

class Transposed final : public LinearOperator {
 public:
  explicit Transposed(std::shared_ptr<const LinearOperator> A) : A_(std::move(A)) {}

  const std::shared_ptr<const LinearOperator>& inner() const { return A_; }

  Index rows() const override { return A_->cols(); }
  Index cols() const override { return A_->rows(); }
  Vector diagonal() const override { return A_->diagonal(); }
  Cost cost() const override { return A_->cost(); }
  KnownFacts known_facts() const override { return A_->known_facts(); }
  std::string description() const override {
    return fmt::format("transpose of {}", A_->description());
  }
  const std::shared_ptr<const MemorySpace>& memory_space() const override {
    return A_->memory_space();
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { A_->apply_transpose(X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { A_->apply(X, Y); }
  void do_columns_at(std::span<const Index> J, Block Y) const override { A_->rows_at(J, Y); }
  void do_rows_at(std::span<const Index> I, Block Y) const override { A_->columns_at(I, Y); }
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override {
    if (transposed) {
      A_->apply(X, Y);
    } else {
      A_->apply_transpose(X, Y);
    }
  }

  std::shared_ptr<const LinearOperator> A_;
};

}  // namespace

std::shared_ptr<const LinearOperator> transpose(std::shared_ptr<const LinearOperator> A) {
  require(A != nullptr, "transpose: no matrix given");
  if (const auto* transposed = dynamic_cast<const Transposed*>(A.get())) {
    return transposed->inner();
  }
  return std::make_shared<const Transposed>(std::move(A));
}

Difference::Difference(const LinearOperator& A, const LinearOperator& B) : A_(A), B_(B) {
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "difference: {} x {} and {} x {} differ in shape",
          A.rows(),
          A.cols(),
          B.rows(),
          B.cols());
}

Vector Difference::diagonal() const { return A_.diagonal() - B_.diagonal(); }

Cost Difference::cost() const {
  const Cost a = A_.cost();
  const Cost b = B_.cost();
  return {
      .stored_numbers = a.stored_numbers + b.stored_numbers,
      .stored_bytes = a.stored_bytes + b.stored_bytes,
      .multiplications_per_apply = a.multiplications_per_apply + b.multiplications_per_apply,
      .multiplications_per_column = a.multiplications_per_column + b.multiplications_per_column};
}

KnownFacts Difference::known_facts() const {
  const std::optional<bool> a = A_.known_facts().symmetric;
  const std::optional<bool> b = B_.known_facts().symmetric;
  KnownFacts facts;
  // Two matrices that are not symmetric may have a symmetric difference.
  if (a && b && (*a || *b)) facts.symmetric = *a && *b;
  return facts;
}

std::string Difference::description() const {
  return fmt::format("({}) - ({})", A_.description(), B_.description());
}

void Difference::do_apply(const ConstBlock& X, Block Y) const {
  A_.apply(X, Y);
  Y -= B_.apply(X);
}

void Difference::do_apply_transpose(const ConstBlock& X, Block Y) const {
  A_.apply_transpose(X, Y);
  Y -= B_.apply_transpose(X);
}

void Difference::do_columns_at(std::span<const Index> J, Block Y) const {
  A_.columns_at(J, Y);
  Y -= B_.columns_at(J);
}

void Difference::do_rows_at(std::span<const Index> I, Block Y) const {
  A_.rows_at(I, Y);
  Y -= B_.rows_at(I);
}

double CountedOperator::passes() const {
  const auto share = [](Index used, Index all) {
    return all == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(all);
  };
  return static_cast<double>(products_) + share(columns_, cols()) + share(rows_, rows()) +
         share(diagonals_, std::max(rows(), cols()));
}

double CountedOperator::multiplications() const {
  const Cost cost = A_.cost();
  return static_cast<double>(product_columns_) * cost.multiplications_per_apply +
         static_cast<double>(columns_ + rows_) * cost.multiplications_per_column;
}

Vector CountedOperator::diagonal() const {
  ++diagonals_;
  return A_.diagonal();
}

void CountedOperator::do_apply(const ConstBlock& X, Block Y) const {
  if (X.cols() > 0) ++products_;
  product_columns_ += X.cols();
  A_.apply(X, Y);
}

void CountedOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  if (X.cols() > 0) ++products_;
  product_columns_ += X.cols();
  A_.apply_transpose(X, Y);
}

void CountedOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  columns_ += static_cast<Index>(J.size());
  A_.columns_at(J, Y);
}

void CountedOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  rows_ += static_cast<Index>(I.size());
  A_.rows_at(I, Y);
}

void CountedOperator::do_apply_in_place(bool transposed,
                                        const ConstMultiVectorView& X,
                                        const MultiVectorView& Y) const {
  ++products_;
  product_columns_ += X.cols;
  if (transposed) {
    A_.apply_transpose(X, Y);
  } else {
    A_.apply(X, Y);
  }
}

const CountedOperator* counter_of(const LinearOperator& A) {
  return dynamic_cast<const CountedOperator*>(&A);
}

}  // namespace matapprox
