#include "mpi/ranks_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "matapprox/core/require.hpp"

namespace matapprox::mpi {
namespace {

/// MPI counts rows in int.
constexpr Index kMaxRows = std::numeric_limits<int>::max();

void check_rows(Index n, Index first, Index count) {
  require(first >= 0 && count >= 0 && first + count <= n,
          "mpi: rows {}..{} are not among the {} rows",
          first,
          first + count - 1,
          n);
  if (count > kMaxRows)
    throw NotAvailable(fmt::format("mpi: {} rows at a time are more than {}", count, kMaxRows));
}

}  // namespace

RanksSpace::RanksSpace(std::shared_ptr<Leader> leader, const std::vector<Layout>& layouts)
    : leader_(std::move(leader)) {
  for (const Layout& layout : layouts) {
    const auto [at, is_new] = layouts_.emplace(layout.rows(), 0);
    if (!is_new) continue;
    at->second = leader_->next_number();
    leader_->run_to_end(AddLayout{at->second, &layout});
  }
}

RanksSpace::~RanksSpace() {
  for (const auto& [rows, number] : layouts_) leader_->run_to_end(Remove{number});
}

Index RanksSpace::layout_number(Index rows) const {
  const std::lock_guard lock(mutex_);
  const auto found = layouts_.find(rows);
  if (found != layouts_.end()) return found->second;
  const Layout layout = even_layout(rows, leader_->processes());
  const Index number = leader_->next_number();
  leader_->run_to_end(AddLayout{number, &layout});
  layouts_.emplace(rows, number);
  return number;
}

RanksSpace::Address RanksSpace::address(const double* numbers) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(numbers);
  require(after != blocks_.begin(), "mpi: a block is not in this memory space");
  const auto& [begin, block] = *std::prev(after);
  return {block.block, block.rows, block.cols, numbers - begin};
}

Part RanksSpace::part(const double* numbers, Index count) const {
  const Address at = address(numbers);
  require(at.rows > 0 && at.first % at.rows == 0 && count % at.rows == 0 &&
              at.first + count <= at.rows * at.cols,
          "mpi: {} numbers from the {}th of a block of {} x {} are not columns of it",
          count,
          at.first,
          at.rows,
          at.cols);
  return {at.block, at.first / at.rows, count / at.rows};
}

double* RanksSpace::allocate(Index rows, Index cols) const {
  const Index layout = layout_number(rows);
  const Index number = leader_->next_number();
  ReservedNumbers addresses(rows * cols, ReservedNumbers::Use::kAsNames);
  double* address = addresses.data();
  leader_->run(Allocate{number, layout, cols});
  const std::lock_guard lock(mutex_);
  blocks_.emplace(address, Reserved{number, rows, cols, std::move(addresses)});
  return address;
}

void RanksSpace::release(double* numbers) const noexcept {
  Reserved block;
  {
    const std::lock_guard lock(mutex_);
    block = std::move(blocks_.extract(numbers).mapped());
  }
  leader_->run_to_end(Remove{block.block});
}

void RanksSpace::write(const double* host, Index count, double* to) const {
  if (count == 0) return;
  const Part columns = part(to, count);
  const Index rows = count / columns.cols;
  for (Index first = 0; first < rows; first += kMaxRows)
    leader_->run(WriteRows{host + first, rows, columns, first, std::min(kMaxRows, rows - first)});
}

void RanksSpace::read(const double* from, Index count, double* host) const {
  if (count == 0) return;
  const Part columns = part(from, count);
  const Index rows = count / columns.cols;
  for (Index first = 0; first < rows; first += kMaxRows)
    leader_->run(ReadRows{columns, first, std::min(kMaxRows, rows - first), host + first, rows});
}

void RanksSpace::read_rows(
    Index n, const double* A, Index a, Index first, Index count, double* host) const {
  check_rows(n, first, count);
  if (count * a > 0) leader_->run(ReadRows{part(A, n * a), first, count, host, count});
}

void RanksSpace::write_rows(
    Index n, double* A, Index a, Index first, Index count, const double* host) const {
  check_rows(n, first, count);
  if (count * a > 0) leader_->run(WriteRows{host, count, part(A, n * a), first, count});
}

std::optional<std::uint32_t> RanksSpace::write_to_file(Index n,
                                                       const double* A,
                                                       Index a,
                                                       const FilePlace& place) const {
  std::optional<std::uint32_t> sum;
  if (n * a > 0) leader_->run(WriteToFile{part(A, n * a), &place, &sum});
  return sum;
}

void RanksSpace::copy(const double* from, Index count, double* to) const {
  if (count > 0) leader_->run(Copy{part(from, count), part(to, count)});
}

void RanksSpace::zero(double* numbers, Index count) const {
  if (count > 0) leader_->run(Zero{part(numbers, count)});
}

void RanksSpace::fill_normal(std::uint64_t seed,
                             RandomStream stream,
                             Index first_column,
                             Index n,
                             Index a,
                             double* X) const {
  if (n * a > 0) leader_->run(FillNormal{seed, stream, first_column, part(X, n * a)});
}

Matrix RanksSpace::transpose_product(
    Index n, const double* A, Index a, const double* B, Index b) const {
  Matrix result = Matrix::Zero(a, b);
  if (n * result.size() > 0)
    leader_->run(TransposeProduct{part(A, n * a), part(B, n * b), result.data()});
  return result;
}

void RanksSpace::add_product(Index n,
                             double alpha,
                             const double* A,
                             Index a,
                             const ConstBlock& S,
                             double beta,
                             double* Y) const {
  if (n * S.cols() == 0) return;
  const Part to = part(Y, n * S.cols());
  if (a == 0) {
    // A block without columns has no address.
    leader_->run(beta == 0 ? Operation(Zero{to}) : Operation(Scale{to, beta}));
    return;
  }
  const Matrix small = S;
  leader_->run(AddProduct{alpha, part(A, n * a), small.data(), beta, to});
}

Vector RanksSpace::column_norms(Index n, const double* A, Index a) const {
  Vector norms = Vector::Zero(a);
  if (n * a > 0) leader_->run(ColumnNorms{part(A, n * a), norms.data()});
  return norms;
}

double RanksSpace::largest(const double* numbers, Index count) const {
  double result = 0;
  if (count > 0) leader_->run(Largest{part(numbers, count), &result});
  return result;
}

void RanksSpace::scale(double* numbers, Index count, double factor) const {
  if (count == 0) return;
  const Address at = address(numbers);
  const Index first = at.first % std::max<Index>(at.rows, 1);
  if (first == 0 && count >= at.rows) return leader_->run(Scale{part(numbers, count), factor});
  check_rows(at.rows, first, count);
  leader_->run(ScaleRows{part(numbers - first, at.rows), first, count, factor});
}

void RanksSpace::adam_step(const kernels::AdamStep& step,
                           const double* gradient,
                           Index count,
                           double* mean,
                           double* square,
                           double* x) const {
  if (count == 0) return;
  leader_->run(AdamStep{
      step, part(gradient, count), part(mean, count), part(square, count), part(x, count)});
}

RanksOperator::RanksOperator(const std::shared_ptr<Leader>& leader,
                             const std::vector<Layout>& layouts,
                             std::optional<Index> number)
    : space_(std::make_shared<const RanksSpace>(leader, layouts)),
      matrix_(leader, number.value_or(leader->next_number())) {}

void RanksOperator::do_apply_in_place(bool transposed,
                                      const ConstMultiVectorView& X,
                                      const MultiVectorView& Y) const {
  if (X.rows == 0) return space_->zero(Y.data, Y.rows * Y.cols);
  leader()->run(Multiply{number(),
                         transposed,
                         ranks().part(X.data, X.rows * X.cols),
                         ranks().part(Y.data, Y.rows * Y.cols)});
}

void RanksOperator::apply_host(bool transposed, const ConstBlock& X, Block& Y) const {
  const MultiVector x(space_, X);
  const MultiVector y = transposed ? apply_transpose(x.columns()) : apply(x.columns());
  Y = to_host(y.columns());
}

}  // namespace matapprox::mpi
