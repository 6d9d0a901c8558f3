#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

using Columns = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using ConstColumns = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Shape and strides of a vector or matrix in an array, in numbers.
struct Layout {
  Index rows = 0;
  Index cols = 1;
  Index row_stride = 1;
  Index col_stride = 0;

  bool has_columns() const {
    return (row_stride == 1 || rows <= 1) && (col_stride >= rows || cols <= 1);
  }
  Index outer_stride() const { return cols <= 1 ? std::max<Index>(rows, 1) : col_stride; }
};

template <class SomeArray>
Layout layout_of(const SomeArray& array) {
  require(array.ndim() == 1 || array.ndim() == 2,
          "an array has {} dimensions; one or two are needed",
          array.ndim());
  Layout layout{static_cast<Index>(array.shape(0)), 1, array.stride(0), 0};
  if (array.ndim() == 2) {
    layout.cols = static_cast<Index>(array.shape(1));
    layout.col_stride = array.stride(1);
  }
  return layout;
}

Matrix copied(const double* data, const Layout& layout) {
  Matrix copy(layout.rows, layout.cols);
  for (Index j = 0; j < layout.cols; ++j) {
    for (Index i = 0; i < layout.rows; ++i) {
      copy(i, j) = data[i * layout.row_stride + j * layout.col_stride];
    }
  }
  return copy;
}

Matrix copied(const InputArray& array) { return copied(array.data(), layout_of(array)); }

/// Computes Y = A X or A^T X; Y is in column-major (Fortran) order, X may have any strides.
void apply(const Handle& A, const InputArray& x, const OutputArray& y, bool transposed) {
  const Layout in = layout_of(x);
  const Layout out = layout_of(y);
  require(out.has_columns(), "the result must be in column-major order");
  const Unlocked unlocked;
  const Columns Y(y.data(), out.rows, out.cols, Eigen::OuterStride<>(out.outer_stride()));
  Matrix copy;
  const bool in_place = in.has_columns();
  if (!in_place) copy = copied(x.data(), in);
  const ConstColumns X(in_place ? x.data() : copy.data(),
                       in.rows,
                       in.cols,
                       Eigen::OuterStride<>(in_place ? in.outer_stride() : in.rows));
  if (transposed) {
    A.matrix->apply_transpose(X, Block(Y));
  } else {
    A.matrix->apply(X, Block(Y));
  }
}

Handle view(nb::ndarray<const double, nb::ndim<2>, nb::device::cpu> array,
            const nb::object& owner) {
  const auto rows = static_cast<Index>(array.shape(0));
  const auto cols = static_cast<Index>(array.shape(1));
  const Layout by_columns{rows, cols, array.stride(0), array.stride(1)};
  const Layout by_rows{cols, rows, array.stride(1), array.stride(0)};
  require(by_columns.has_columns() || by_rows.has_columns(),
          "neither the columns nor the rows of the array are contiguous");
  const bool columns = by_columns.has_columns();
  const DenseView::Entries entries{array.data(),
                                   rows,
                                   cols,
                                   columns ? by_columns.outer_stride() : by_rows.outer_stride(),
                                   columns ? MemoryOrder::kColumns : MemoryOrder::kRows};
  return {std::make_shared<DenseView>(entries, keep_alive(owner))};
}

/// Checks the structure of a matrix in compressed rows, or columns, in one pass. Returns true if
/// the indices of each row increase. Throws InvalidArgument if the structure is invalid.
template <class Integer>
bool has_sorted_rows(Index rows,
                     Index cols,
                     const Integer* starts,
                     Index start_count,
                     const Integer* columns,
                     Index column_count) {
  require(start_count == rows + 1,
          "the sparse matrix has {} entries in indptr; {} are needed",
          start_count,
          rows + 1);
  require(starts[0] == 0, "the sparse matrix has an indptr that starts with {}, not 0", starts[0]);
  require(starts[rows] <= column_count,
          "the sparse matrix has an indptr that ends with {}, after {} indices",
          starts[rows],
          column_count);
  bool sorted = true;
  for (Index i = 0; i < rows; ++i) {
    require(starts[i] <= starts[i + 1] && starts[i + 1] <= column_count,
            "the sparse matrix has an indptr that goes from {} to {} at {}",
            starts[i],
            starts[i + 1],
            i);
    Integer last = -1;
    for (Integer k = starts[i]; k < starts[i + 1]; ++k) {
      const Integer j = columns[k];
      require(j >= 0 && j < cols,
              "the sparse matrix has the index {}, which is outside 0..{}",
              j,
              cols - 1);
      sorted = sorted && j > last;
      last = j;
    }
  }
  return sorted;
}

template <class Integer>
using Integers = nb::ndarray<const Integer, nb::ndim<1>, nb::c_contig>;

template <class Integer>
bool has_sorted_rows(Index rows,
                     Index cols,
                     const Integers<Integer>& starts,
                     const Integers<Integer>& columns) {
  return has_sorted_rows(rows,
                         cols,
                         starts.data(),
                         static_cast<Index>(starts.size()),
                         columns.data(),
                         static_cast<Index>(columns.size()));
}

template <class Integer>
SparseMatrix compressed_rows(Index rows,
                             Index cols,
                             const Integers<Integer>& starts,
                             const Integers<Integer>& columns,
                             const InputArray& values,
                             Index count) {
  SparseMatrix A(rows, cols);
  A.resizeNonZeros(count);
  std::copy_n(starts.data(), rows + 1, A.outerIndexPtr());
  std::copy_n(columns.data(), count, A.innerIndexPtr());
  std::copy_n(values.data(), count, A.valuePtr());
  return A;
}

/// Returns a copy of a matrix in compressed rows; nothing if the indices of a row do not increase.
template <class Integer>
std::optional<Handle> sparse(Index rows,
                             Index cols,
                             const Integers<Integer>& starts,
                             const Integers<Integer>& columns,
                             const InputArray& values) {
  const Unlocked unlocked;
  if (!has_sorted_rows<Integer>(rows, cols, starts, columns)) return std::nullopt;
  const auto count = static_cast<Index>(starts.data()[rows]);
  require(static_cast<Index>(values.size()) >= count,
          "the sparse matrix has {} values and {} indices",
          values.size(),
          count);
  return Handle{std::make_shared<SparseOperator>(
      compressed_rows<Integer>(rows, cols, starts, columns, values, count))};
}

/// An operator whose products are computed by Python: `product(X, transposed)` receives an array in
/// column order, which it owns, and returns one that _operators.py has checked.
class PythonOperator final : public LinearOperator {
 public:
  PythonOperator(Index rows, Index cols, nb::object product, std::string description)
      : rows_(rows),
        cols_(cols),
        product_(std::move(product)),
        description_(std::move(description)) {}
  ~PythonOperator() override {
    if (!can_lock()) {
      product_.release();
      return;
    }
    const Locked locked;
    product_.reset();
  }
  PythonOperator(const PythonOperator&) = delete;
  PythonOperator& operator=(const PythonOperator&) = delete;

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  /// The storage is unknown; it is assumed to be that of a dense matrix.
  Cost cost() const override {
    const auto numbers = static_cast<double>(rows_) * static_cast<double>(cols_);
    return {.stored_numbers = rows_ * cols_,
            .stored_bytes = 8 * rows_ * cols_,
            .multiplications_per_apply = numbers,
            .multiplications_per_column = numbers};
  }
  std::string description() const override { return description_; }

  /// For the cycle collector, which holds the interpreter's lock.
  PyObject* product() const { return product_.ptr(); }
  void drop_product() const { product_.reset(); }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { multiply(X, Y, false); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { multiply(X, Y, true); }

  void multiply(const ConstBlock& X, Block& Y, bool transposed) const {
    const Locked locked;
    if (!product_.is_valid()) throw NotAvailable("the operator has been garbage-collected");
    const nb::object product = product_;
    const nb::object result = product(to_array(X), transposed);
    const auto values = nb::cast<InputArray>(result);
    Y = copied(values);
  }

  Index rows_;
  Index cols_;
  mutable nb::object product_;
  std::string description_;
};

/// Returns the Python operator if this handle is its only owner, else null.
const PythonOperator* sole_python_operator(PyObject* self) {
  if (!nb::inst_ready(self)) return nullptr;
  const auto& matrix = nb::inst_ptr<Handle>(self)->matrix;
  if (matrix.use_count() != 1) return nullptr;
  return dynamic_cast<const PythonOperator*>(matrix.get());
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const PythonOperator* python = sole_python_operator(self);
  if (python != nullptr) Py_VISIT(python->product());
  return 0;
}

int clear(PyObject* self) {
  const PythonOperator* python = sole_python_operator(self);
  if (python != nullptr) python->drop_product();
  return 0;
}

const PyType_Slot kCollected[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                  {0, nullptr}};

nb::dict facts_of(const Handle& A) {
  KnownFacts facts;
  {
    const Unlocked unlocked;
    facts = A.matrix->known_facts();
  }
  nb::dict result;
  result["symmetric"] = facts.symmetric;
  result["nonzeros"] = facts.nonzeros;
  result["frobenius_norm"] = facts.frobenius_norm;
  return result;
}

}  // namespace

Array to_array(Matrix values) {
  auto* kept = new Matrix(std::move(values));
  const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<Matrix*>(data); });
  return {kept->data(),
          {static_cast<std::size_t>(kept->rows()), static_cast<std::size_t>(kept->cols())},
          owner,
          {1, kept->rows()}};
}

std::shared_ptr<const void> keep_alive(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* kept) {
            if (!can_lock()) return;
            const Locked locked;
            delete kept;
          }};
}

void bind_operators(nb::module_& m) {
  nb::class_<Handle>(m, "Operator", nb::type_slots(kCollected))
      .def_prop_ro(
          "shape",
          [](const Handle& A) { return nb::make_tuple(A.matrix->rows(), A.matrix->cols()); })
      .def_prop_ro("description", [](const Handle& A) { return A.matrix->description(); })
      .def_prop_ro("facts", &facts_of)
      .def_prop_ro("cost",
                   [](const Handle& A) {
                     const Cost cost = A.matrix->cost();
                     return nb::make_tuple(cost.stored_numbers,
                                           cost.stored_bytes,
                                           cost.multiplications_per_apply,
                                           cost.multiplications_per_column);
                   })
      .def("apply", &apply)
      .def("transpose", [](const Handle& A) { return Handle{transpose(A.matrix)}; })
      .def("columns",
           [](const Handle& A, const std::vector<Index>& J) {
             Matrix columns;
             {
               const Unlocked unlocked;
               columns = A.matrix->columns_at(J);
             }
             return to_array(std::move(columns));
           })
      .def("rows",
           [](const Handle& A, const std::vector<Index>& I) {
             Matrix rows;
             {
               const Unlocked unlocked;
               rows = A.matrix->rows_at(I);
             }
             return to_array(std::move(rows));
           })
      .def("diagonal", [](const Handle& A) {
        Vector diagonal;
        {
          const Unlocked unlocked;
          diagonal = A.matrix->diagonal();
        }
        return to_array(std::move(diagonal));
      });
  m.def("view", &view);
  m.def("sparse", &sparse<std::int32_t>);
  m.def("sparse", &sparse<std::int64_t>);
  m.def(
      "has_sorted_rows",
      nb::overload_cast<Index, Index, const Integers<std::int32_t>&, const Integers<std::int32_t>&>(
          &has_sorted_rows<std::int32_t>));
  m.def(
      "has_sorted_rows",
      nb::overload_cast<Index, Index, const Integers<std::int64_t>&, const Integers<std::int64_t>&>(
          &has_sorted_rows<std::int64_t>));
  m.def("python_operator",
        [](Index rows, Index cols, nb::object product, const std::string& description) {
          return Handle{
              std::make_shared<PythonOperator>(rows, cols, std::move(product), description)};
        });
  m.def("kernel",
        [](const InputArray& points,
           const std::string& function,
           double bandwidth,
           Index degree,
           double offset) {
          const KernelOptions options{
              enum_of<KernelFunction>("kernel: function", function), bandwidth, degree, offset};
          const Unlocked unlocked;
          return Handle{std::make_shared<KernelOperator>(copied(points), options)};
        });
  m.def("bandwidth", [](const Handle& A) -> std::optional<double> {
    const auto* kernel = kernel_matrix(*A.matrix);
    if (kernel == nullptr) return std::nullopt;
    return kernel->bandwidth();
  });
  m.def("covariance", [](const InputArray& samples, bool correlation) {
    const Unlocked unlocked;
    return Handle{std::make_shared<CovarianceOperator>(copied(samples), correlation)};
  });
  m.def("random_projection",
        [](const std::string& kind, std::uint64_t seed, Index rows, Index cols) {
          return Handle{std::make_shared<FactorProduct>(std::vector<Factor>{make_factor(
              "R", RandomProjection(enum_of<ProjectionKind>("kind", kind), seed, rows, cols))})};
        });
  m.def("load", [](const std::string& path, const NamedOptions& options) {
    const Unlocked unlocked;
    check_names("load", options, list_options(LoadOptions{}));
    return Handle{load(path, options_from<LoadOptions>(options)).matrix};
  });
  m.def("is_saved_approximation", &is_saved_approximation);
  m.def("load_approximation", [](const std::string& path) {
    const Unlocked unlocked;
    return handle_of(load_approximation(path).approximation);
  });
}

}  // namespace matapprox::python
