#include "mpi/petsc_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "matapprox/core/require.hpp"
#include "matapprox/mpi/petsc.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/leader.hpp"
#include "mpi/ranks_space.hpp"
#include "mpi/sparse_rows.hpp"

namespace matapprox::mpi {
namespace {

static_assert(sizeof(PetscInt) == sizeof(Index), "PETSc with 64-bit indices is needed");
static_assert(sizeof(PetscScalar) == sizeof(double), "PETSc with real doubles is needed");

void check(PetscErrorCode code) { check_petsc(code); }

/// A PETSc matrix owned by a scope.
class OwnMat {
 public:
  OwnMat() = default;
  ~OwnMat() { MatDestroy(&matrix_); }
  OwnMat(const OwnMat&) = delete;
  OwnMat(OwnMat&&) = delete;
  OwnMat& operator=(const OwnMat&) = delete;
  OwnMat& operator=(OwnMat&&) = delete;
  Mat* address() { return &matrix_; }
  Mat get() const { return matrix_; }

 private:
  Mat matrix_ = nullptr;
};

Layout layout_of(const PetscInt* begins, int processes) {
  return Layout(std::vector<Index>(begins, begins + processes + 1));
}

Layout row_layout(const Process& process, Mat A) {
  const PetscInt* begins = nullptr;
  check(MatGetOwnershipRanges(A, &begins));
  return layout_of(begins, process.size());
}

Layout column_layout(const Process& process, Mat A) {
  const PetscInt* begins = nullptr;
  check(MatGetOwnershipRangesColumn(A, &begins));
  return layout_of(begins, process.size());
}

/// Returns this process's rows, with all columns of A.
SparseMatrix rows_of(const Process& process, Mat A) {
  const Layout layout = row_layout(process, A);
  const Index first = layout.first(process.rank());
  SparseMatrix rows;
  process.agree([&] {
    std::vector<Index> counts;
    for (Index i = 0; i < layout.count(process.rank()); ++i) {
      PetscInt count = 0;
      check(MatGetRow(A, first + i, &count, nullptr, nullptr));
      counts.push_back(count);
      check(MatRestoreRow(A, first + i, &count, nullptr, nullptr));
    }
    rows.resize(std::ssize(counts), column_layout(process, A).rows());
    Index* begins = rows.outerIndexPtr();
    for (std::size_t i = 0; i < counts.size(); ++i) begins[i + 1] = begins[i] + counts[i];
    rows.resizeNonZeros(begins[counts.size()]);
    for (Index i = 0; i < rows.rows(); ++i) {
      PetscInt count = 0;
      const PetscInt* columns = nullptr;
      const PetscScalar* values = nullptr;
      check(MatGetRow(A, first + i, &count, &columns, &values));
      std::copy_n(columns, count, rows.innerIndexPtr() + begins[i]);
      std::copy_n(values, count, rows.valuePtr() + begins[i]);
      check(MatRestoreRow(A, first + i, &count, &columns, &values));
    }
  });
  return rows;
}

bool is_known_symmetric(Mat A) {
  PetscBool is_known = PETSC_FALSE;
  PetscBool is_symmetric = PETSC_FALSE;
  check(MatIsSymmetricKnown(A, &is_known, &is_symmetric));
  return is_known == PETSC_TRUE && is_symmetric == PETSC_TRUE;
}

bool has_compressed_rows(Mat A) {
  PetscBool found = PETSC_FALSE;
  check(PetscObjectTypeCompareAny(
      reinterpret_cast<PetscObject>(A), &found, MATSEQAIJ, MATMPIAIJ, ""));
  return found == PETSC_TRUE;
}

/// Wraps this process's rows of X as a dense PETSc matrix, without copying the numbers.
void wrap(const Process& process, const ConstMultiVectorView& X, OwnMat& wrapped) {
  check(MatCreateDense(process.comm(),
                       X.rows,
                       PETSC_DECIDE,
                       PETSC_DETERMINE,
                       X.cols,
                       const_cast<double*>(X.data),  // NOLINT: it is only read
                       wrapped.address()));
}

using Facts = ImportedMatrix::Facts;

Facts facts_of(Mat A, const Layout& rows, const Layout& columns) {
  Facts facts;
  MatType type = nullptr;
  check(MatGetType(A, &type));
  const double all = static_cast<double>(rows.rows()) * static_cast<double>(columns.rows());
  facts.description = fmt::format("PETSc's {}", type);
  facts.cost.multiplications_per_apply = all;
  if (is_known_symmetric(A)) facts.known.symmetric = true;
  if (has_compressed_rows(A)) {
    MatInfo info{};
    check(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
    facts.cost.stored_numbers = static_cast<Index>(info.nz_used);
    facts.cost.stored_bytes = static_cast<Index>(info.memory);
    facts.cost.multiplications_per_apply = info.nz_used;
    PetscReal norm = 0;
    check(MatNorm(A, NORM_FROBENIUS, &norm));
    facts.known.frobenius_norm = norm;
  }
  facts.cost.multiplications_per_column = facts.cost.multiplications_per_apply;
  return facts;
}

class PetscOperator final : public RanksOperator, public ChordObjectiveSource {
 public:
  PetscOperator(const std::shared_ptr<Leader>& leader,
                const Layout& rows,
                const Layout& columns,
                Facts facts)
      : RanksOperator(leader, {rows, columns}, ImportedMatrix::kNumber),
        rows_(rows.rows()),
        cols_(columns.rows()),
        facts_(std::move(facts)) {}

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  Cost cost() const override { return facts_.cost; }
  KnownFacts known_facts() const override { return facts_.known; }
  std::string description() const override {
    return fmt::format("{}, over {} processes", facts_.description, leader()->processes());
  }
  std::unique_ptr<DeviceChordObjective> chord_objective(const ChordPattern& pattern,
                                                        Index max_columns,
                                                        const ChordTarget& target) const override {
    return chord_objective_if_worth_it(leader(), pattern, max_columns, target);
  }
  PlacedChord placed_chord(const ChordPattern& pattern,
                           std::shared_ptr<const MultiVector> values) const override {
    return spread_chord(leader(), pattern, std::move(values));
  }

 private:
  Index rows_;
  Index cols_;
  Facts facts_;
};

/// Returns a copy of compressed rows, else a PetscMatrix.
std::unique_ptr<const SpreadMatrix> petsc_matrix(const Process& process, Mat A) {
  if (!has_compressed_rows(A)) return std::make_unique<const PetscMatrix>(A);
  auto matrix = std::make_unique<OwnRows>(process, column_layout(process, A), rows_of(process, A));
  std::unique_ptr<OwnRows> transposed;
  if (!is_known_symmetric(A)) {
    OwnMat mirrored;
    check(MatTranspose(A, MAT_INITIAL_MATRIX, mirrored.address()));
    transposed = std::make_unique<OwnRows>(
        process, row_layout(process, A), rows_of(process, mirrored.get()));
  }
  return std::make_unique<const SparseRows>(std::move(matrix), std::move(transposed));
}

}  // namespace

void check_petsc(PetscErrorCode code) {
  if (code == 0) return;
  const char* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw std::runtime_error(fmt::format("PETSc: {}", text == nullptr ? "an error" : text));
}

void PetscMatrix::multiply(const Process& process,
                           bool transposed,
                           const ConstMultiVectorView& X,
                           const MultiVectorView& Y) const {
  OwnMat x;
  OwnMat y;
  wrap(process, X, x);
  const auto product = transposed ? MatTransposeMatMult : MatMatMult;
  check(product(matrix_, x.get(), MAT_INITIAL_MATRIX, PETSC_DEFAULT, y.address()));
  const PetscScalar* numbers = nullptr;
  PetscInt stride = 0;
  check(MatDenseGetLDA(y.get(), &stride));
  check(MatDenseGetArrayRead(y.get(), &numbers));
  for (Index c = 0; c < Y.cols; ++c) std::copy_n(numbers + c * stride, Y.rows, Y.data + c * Y.rows);
  check(MatDenseRestoreArrayRead(y.get(), &numbers));
}

ImportedMatrix take(const Process& process, Mat A) {
  const Layout rows = row_layout(process, A);
  const Layout columns = column_layout(process, A);
  require(rows.rows() != columns.rows() || rows == columns,
          "mpi: the rows and columns of a square matrix must be distributed in the same way");
  ImportedMatrix taken{rows, columns, facts_of(A, rows, columns), {}};
  try {
    taken.store.matrices.emplace(ImportedMatrix::kNumber, petsc_matrix(process, A));
  } catch (const AgreedFailure& failure) {
    failure.throw_as_it_was();
  }
  return taken;
}

std::shared_ptr<const LinearOperator> petsc_operator(const std::shared_ptr<Leader>& leader,
                                                     const Layout& rows,
                                                     const Layout& columns,
                                                     ImportedMatrix::Facts facts) {
  return std::make_shared<const PetscOperator>(leader, rows, columns, std::move(facts));
}

void run(Mat A, const std::function<void(const LinearOperator& A)>& body) {
  MPI_Comm comm = MPI_COMM_NULL;
  check(PetscObjectGetComm(reinterpret_cast<PetscObject>(A), &comm));
  const Process process(comm);
  ImportedMatrix taken = take(process, A);
  lead_or_serve(process, std::move(taken.store), [&](const std::shared_ptr<Leader>& leader) {
    body(*petsc_operator(leader, taken.rows, taken.columns, taken.facts));
  });
}

}  // namespace matapprox::mpi
