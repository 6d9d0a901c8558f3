#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "matapprox/core/require.hpp"
#include "matapprox/mpi/petsc.hpp"
#include "mpi/leader.hpp"
#include "mpi/petsc_matrix.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {
namespace {

/// The approximation behind a PETSc shell matrix, on each process.
class PlacedApproximation {
 public:
  using Fit = std::function<Approximation(const LinearOperator& A)>;

  PlacedApproximation(MPI_Comm comm, Mat A, const Fit& fit);
  ~PlacedApproximation();
  PlacedApproximation(const PlacedApproximation&) = delete;
  PlacedApproximation(PlacedApproximation&&) = delete;
  PlacedApproximation& operator=(const PlacedApproximation&) = delete;
  PlacedApproximation& operator=(PlacedApproximation&&) = delete;

  Index own_rows() const { return own_rows_; }
  Index own_cols() const { return own_cols_; }
  /// Computes Y = B X or B^T X for `columns` columns. Called by all processes together; returns the
  /// reason of a failure on all, or an empty text.
  std::string multiply(bool transposed, const LocalBlock& blocks, Index columns);

 private:
  /// Runs `body` on the leader; returns the reason of a failure on all processes.
  std::string together(const std::function<void(const std::shared_ptr<Leader>&)>& body);
  MultiVector product(bool transposed, MultiVector X) const;

  Process process_;
  Index own_rows_ = 0;
  Index own_cols_ = 0;
  std::shared_ptr<LocalBlock> local_ = std::make_shared<LocalBlock>();
  std::optional<Session> session_;
  std::exception_ptr failure_;  ///< error of the last together(), on the leader
  // Only on the leader.
  std::shared_ptr<const MemorySpace> space_;
  std::optional<Approximation> B_;
};

PlacedApproximation::PlacedApproximation(MPI_Comm comm, Mat A, const Fit& fit) : process_(comm) {
  ImportedMatrix taken = take(process_, A);
  own_rows_ = taken.rows.count(process_.rank());
  own_cols_ = taken.columns.count(process_.rank());
  taken.store.local = local_;
  session_.emplace(process_, std::move(taken.store));
  const std::string why = together([&](const std::shared_ptr<Leader>& leader) {
    const auto matrix = petsc_operator(leader, taken.rows, taken.columns, std::move(taken.facts));
    B_ = fit(*matrix);
    require(B_->rows() == matrix->rows() && B_->cols() == matrix->cols(),
            "mpi: the approximation is {} x {}, but the matrix is {} x {}",
            B_->rows(),
            B_->cols(),
            matrix->rows(),
            matrix->cols());
    space_ = matrix->memory_space();
  });
  if (why.empty()) return;
  if (failure_) std::rethrow_exception(failure_);
  throw NotAvailable("mpi: the first process has no approximation: " + why);
}

PlacedApproximation::~PlacedApproximation() {
  // The blocks on all processes are released with the objects on the leader that refer to them.
  together([&](const std::shared_ptr<Leader>&) {
    B_.reset();
    space_.reset();
  });
}

std::string PlacedApproximation::together(
    const std::function<void(const std::shared_ptr<Leader>&)>& body) {
  std::string why;
  failure_ = nullptr;
  try {
    session_->run(body);
  } catch (const std::exception& error) {
    failure_ = std::current_exception();
    why = error.what();
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_ && why.empty()) why = "an unknown error";
  process_.broadcast(why);
  return why;
}

MultiVector PlacedApproximation::product(bool transposed, MultiVector X) const {
  if (B_->memory_space() == space_)
    return transposed ? B_->apply_transpose(X.columns()) : B_->apply(X.columns());
  const Matrix here = to_host(X.columns());
  return {space_, transposed ? B_->apply_transpose(here) : B_->apply(here)};
}

std::string PlacedApproximation::multiply(bool transposed,
                                          const LocalBlock& blocks,
                                          Index columns) {
  *local_ = blocks;
  return together([&](const std::shared_ptr<Leader>& leader) {
    const auto& ranks = dynamic_cast<const RanksSpace&>(*space_);
    MultiVector X(space_, transposed ? B_->rows() : B_->cols(), columns);
    if (X.size() > 0) leader->run(TakeLocal{ranks.part(X.data(), X.size())});
    const MultiVector Y = product(transposed, std::move(X));
    if (Y.size() > 0) leader->run(GiveLocal{ranks.part(Y.data(), Y.size())});
  });
}

// Callbacks for PETSc.

PetscErrorCode result_of(Mat shell, const std::string& why) {
  if (why.empty()) return 0;
  SETERRQ(PetscObjectComm(reinterpret_cast<PetscObject>(shell)), PETSC_ERR_LIB, "%s", why.c_str());
}

PlacedApproximation& of(Mat shell) {
  void* context = nullptr;
  check_petsc(MatShellGetContext(shell, static_cast<void*>(&context)));
  return *static_cast<PlacedApproximation*>(context);
}

template <bool transposed>
PetscErrorCode multiply_vector(Mat shell, Vec x, Vec y) {
  LocalBlock local;
  PetscCall(VecGetArrayRead(x, &local.from));
  PetscCall(VecGetArrayWrite(y, &local.to));
  PetscCall(VecGetLocalSize(x, &local.from_stride));
  PetscCall(VecGetLocalSize(y, &local.to_stride));
  const std::string why = of(shell).multiply(transposed, local, 1);
  PetscCall(VecRestoreArrayWrite(y, &local.to));
  PetscCall(VecRestoreArrayRead(x, &local.from));
  return result_of(shell, why);
}

template <bool transposed>
PetscErrorCode multiply_dense(Mat shell, Mat X, Mat Y, void* /*data*/) {
  LocalBlock local;
  PetscInt columns = 0;
  PetscCall(MatGetSize(X, nullptr, &columns));
  PetscCall(MatDenseGetLDA(X, &local.from_stride));
  PetscCall(MatDenseGetLDA(Y, &local.to_stride));
  PetscCall(MatDenseGetArrayRead(X, &local.from));
  PetscCall(MatDenseGetArrayWrite(Y, &local.to));
  const std::string why = of(shell).multiply(transposed, local, columns);
  PetscCall(MatDenseRestoreArrayWrite(Y, &local.to));
  PetscCall(MatDenseRestoreArrayRead(X, &local.from));
  return result_of(shell, why);
}

/// Called when the last of the shell and its duplicates is destroyed.
PetscErrorCode destroy(void* context) {
  delete static_cast<PlacedApproximation*>(context);
  return 0;
}

}  // namespace

Mat to_petsc(Mat A, const std::function<Approximation(const LinearOperator& A)>& fit) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_petsc(PetscObjectGetComm(reinterpret_cast<PetscObject>(A), &comm));
  auto placed = std::make_unique<PlacedApproximation>(comm, A, fit);
  Mat shell = nullptr;
  check_petsc(MatCreateShell(comm,
                             placed->own_rows(),
                             placed->own_cols(),
                             PETSC_DETERMINE,
                             PETSC_DETERMINE,
                             placed.get(),
                             &shell));
  const auto set = [&](MatOperation operation, auto function) {
    check_petsc(MatShellSetOperation(shell, operation, reinterpret_cast<void (*)()>(function)));
  };
  set(MATOP_MULT, multiply_vector<false>);
  set(MATOP_MULT_TRANSPOSE, multiply_vector<true>);
  check_petsc(MatShellSetContextDestroy(shell, destroy));
  placed.release();  // NOLINT: it is destroy()'s now
  for (const MatType type : {MATSEQDENSE, MATMPIDENSE}) {
    check_petsc(MatShellSetMatProductOperation(
        shell, MATPRODUCT_AB, nullptr, multiply_dense<false>, nullptr, type, type));
    check_petsc(MatShellSetMatProductOperation(
        shell, MATPRODUCT_AtB, nullptr, multiply_dense<true>, nullptr, type, type));
  }
  return shell;
}

}  // namespace matapprox::mpi
