#include "matapprox/kernels/gemm.hpp"

#include <algorithm>
#include <functional>

#include "kernels/amx.hpp"
#include "kernels/gemm_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::kernels {

namespace {

using simd::Update;

struct Range {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
};

constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// op(A) of a column-major A.
template <class T>
struct Operand {
  const T* data = nullptr;
  Index stride = 0;
  bool transposed = false;

  const T* at(Index row, Index column) const {
    return transposed ? data + column + row * stride : data + row + column * stride;
  }
  /// Its rows as the rows of packed panels, from entry (row, column) on.
  simd::PackSource<T> rows_from(Index row, Index column) const {
    return {at(row, column), transposed ? stride : 1, transposed ? 1 : stride};
  }
  /// Its columns as the rows of packed panels.
  simd::PackSource<T> columns_from(Index row, Index column) const {
    return {at(row, column), transposed ? 1 : stride, transposed ? stride : 1};
  }
};

template <class T>
struct Factors {
  Operand<T> A;
  Operand<T> B;
  bool by_blocks = false;  ///< use AMX; the same for all parts of a product, however it is divided
};

template <class T>
struct Target {
  T* data = nullptr;
  Index stride = 0;
};

/// Update of C by the block of K from depth p on: the first one of `depth` applies beta, the others
/// add.
template <class T>
Update<T> update_of(const Update<T>& first, Range depth, Index p) {
  return p == depth.begin ? first : Update<T>{first.alpha, T{1}};
}

// Number of columns of C for which one thread packs B at a time: 256 deep, 2 MiB of double.
constexpr Index kPackedColumns = 1024;
// Number of rows of A packed at a time: 256 deep, 192 KiB of double.
constexpr Index kPackedRows = 96;
// Number of panels of A up to which each column of B is read too few times for packing to pay.
constexpr Index kPanelsInPlace = 2;

template <class T>
void multiply_packed_range(const Factors<T>& factors,
                           Range rows,
                           Range columns,
                           Range depth,
                           const Update<T>& first,
                           const Target<T>& C) {
  thread_local Scratch<T> scratch_a;
  thread_local Scratch<T> scratch_b;
  const simd::GemmFunctions<T>& functions = simd::gemm_functions<T>();
  const simd::TileShape tile = functions.tile;
  const Index row_step = round_up(kPackedRows, tile.rows);
  const Index width = round_up(std::min(kPackedColumns, columns.size()), tile.columns);
  const bool in_place = !factors.B.transposed && rows.size() <= kPanelsInPlace * tile.rows;
  T* a = scratch_a.reserve(row_step * simd::kDepth);
  T* b = in_place ? nullptr : scratch_b.reserve(width * simd::kDepth);
  for (Index j = columns.begin; j < columns.end; j += kPackedColumns) {
    const Index j_count = std::min(kPackedColumns, columns.end - j);
    for (Index p = depth.begin; p < depth.end; p += simd::kDepth) {
      const Index p_count = std::min(simd::kDepth, depth.end - p);
      const Update<T> update = update_of(first, depth, p);
      if (!in_place)
        functions.pack(factors.B.columns_from(p, j), j_count, p_count, tile.columns, b);
      for (Index i = rows.begin; i < rows.end; i += row_step) {
        throw_if_stop_requested();
        const Index i_count = std::min(row_step, rows.end - i);
        functions.pack(
            factors.A.rows_from(i, p), i_count, p_count, functions.panel_rows(i_count), a);
        T* c = C.data + (i - rows.begin) + (j - columns.begin) * C.stride;
        const simd::Output<T> output{c, C.stride, i_count, j_count};
        if (in_place) {
          functions.multiply_in_place(
              a, factors.B.at(p, j), factors.B.stride, p_count, update, output);
        } else {
          functions.multiply_packed(a, b, p_count, update, output);
        }
      }
    }
  }
}

template <class T>
void multiply_narrow_range(const Factors<T>& factors,
                           Range rows,
                           Range columns,
                           Range depth,
                           const Update<T>& first,
                           const Target<T>& C) {
  thread_local Scratch<T> scratch;
  T* b = scratch.reserve(simd::kNarrow * simd::kDepth);
  const simd::GemmFunctions<T>& functions = simd::gemm_functions<T>();
  const auto multiply =
      factors.A.transposed ? functions.multiply_narrow_transposed : functions.multiply_narrow;
  const simd::Output<T> output{C.data, C.stride, rows.size(), columns.size()};
  for (Index p = depth.begin; p < depth.end; p += simd::kDepth) {
    throw_if_stop_requested();
    const Index p_count = std::min(simd::kDepth, depth.end - p);
    for (Index j = 0; j < columns.size(); ++j) {
      for (Index q = 0; q < p_count; ++q) {
        b[j * p_count + q] = *factors.B.at(p + q, columns.begin + j);
      }
    }
    multiply(factors.A.at(rows.begin, p),
             factors.A.stride,
             b,
             p_count,
             update_of(first, depth, p),
             output);
  }
}

template <class T>
void multiply_blocks_range(const Factors<T>& factors,
                           Range rows,
                           Range columns,
                           Range depth,
                           const Update<T>& update,
                           const Target<T>& C) {
  thread_local Scratch<T> scratch;
  const AmxScope tiles;
  throw_if_stop_requested();
  simd::gemm_functions<T>().multiply_blocks(factors.A.rows_from(rows.begin, depth.begin),
                                            factors.B.columns_from(depth.begin, columns.begin),
                                            depth.size(),
                                            update,
                                            {C.data, C.stride, rows.size(), columns.size()},
                                            scratch.reserve(simd::kBlockMemory));
}

/// True if packing a product for AMX pays: little of its blocks is padding. The number of columns
/// is ignored, because no column's bits may depend on it.
template <class T>
bool takes_blocks(Index m, Index k) {
  constexpr Index kMinSize = 32;
  return simd::gemm_functions<T>().multiply_blocks != nullptr && uses_amx() &&
         std::min(m, k) >= kMinSize;
}

/// C (rows x columns) = alpha op(A) op(B) + beta C over a range of K, serially.
template <class T>
void multiply_range(const Factors<T>& factors,
                    Range rows,
                    Range columns,
                    Range depth,
                    const Update<T>& update,
                    const Target<T>& C) {
  if (factors.by_blocks) {
    multiply_blocks_range(factors, rows, columns, depth, update, C);
  } else if (columns.size() <= simd::kNarrow) {
    multiply_narrow_range(factors, rows, columns, depth, update, C);
  } else {
    multiply_packed_range(factors, rows, columns, depth, update, C);
  }
}

struct Shape {
  Index rows = 0;
  Index columns = 0;
};

/// Tiles of C that are spread over the threads. The division of C does not change its bits.
template <class T>
Shape tile_for_threads(Index m, Index n, Index k) {
  constexpr double kSmall = 1e5;  // multiplications that do not justify waking a thread
  const simd::TileShape block = simd::gemm_functions<T>().tile;
  const bool narrow = n <= simd::kNarrow;
  const Index min_rows = narrow ? 256 : 4 * block.rows;
  const Index min_columns = narrow ? n : 8 * block.columns;
  const Index wanted = threads() == 1 ? 1 : 4 * threads();
  Shape tile{m, n};
  Index tiles = 1;
  while (tiles < wanted) {
    const double work =
        static_cast<double>(tile.rows) * static_cast<double>(tile.columns) * static_cast<double>(k);
    const bool split_rows = tile.rows >= 2 * min_rows;
    const bool split_columns = tile.columns >= 2 * min_columns;
    if (work < kSmall || (!split_rows && !split_columns)) break;
    if (split_rows && (tile.rows >= tile.columns || !split_columns)) {
      tile.rows = round_up((tile.rows + 1) / 2, narrow ? min_rows : block.rows);
    } else {
      tile.columns = round_up((tile.columns + 1) / 2, block.columns);
    }
    tiles = ((m + tile.rows - 1) / tile.rows) * ((n + tile.columns - 1) / tile.columns);
  }
  return tile;
}

template <class T>
void multiply_tiles(const Factors<T>& factors,
                    Index m,
                    Index n,
                    Index k,
                    const Update<T>& update,
                    const Target<T>& C) {
  const Shape tile = tile_for_threads<T>(m, n, k);
  const Index row_tiles = (m + tile.rows - 1) / tile.rows;
  const Index column_tiles = (n + tile.columns - 1) / tile.columns;
  const auto multiply = [&](Index t) {
    const Index i = t % row_tiles * tile.rows;
    const Index j = t / row_tiles * tile.columns;
    multiply_range(factors,
                   {i, std::min(m, i + tile.rows)},
                   {j, std::min(n, j + tile.columns)},
                   {0, k},
                   update,
                   Target<T>{C.data + i + j * C.stride, C.stride});
  };
  // Passed by reference: a function object with a copy of the lambda would be allocated in each
  // call.
  parallel_for(row_tiles * column_tiles, std::ref(multiply));
}

// A product with few rows and a long K is divided along K, in chunks that depend on m and k alone:
// each column's bits are the same whatever the number of columns.
constexpr Index kFewRows = 512;
constexpr Index kLongDepth = 4096;
constexpr Index kMinChunk = 2048;
constexpr Index kMaxChunks = 64;
// Number of entries of the partial sums stored at a time: 32 MiB of double.
constexpr Index kPartialNumbers = Index{1} << 22;

bool is_deep(Index m, Index k) { return m <= kFewRows && k >= kLongDepth; }

/// C(:, j) = alpha * (sum of the partial columns, in order) + beta C(:, j)
template <class T>
void add_partials(
    const T* partial, Index step, Index chunks, Index m, const Update<T>& update, T* c) {
  for (Index i = 0; i < m; ++i) {
    T sum = partial[i];
    for (Index s = 1; s < chunks; ++s) sum += partial[i + s * step];
    c[i] = update.beta == T{0} ? update.alpha * sum : update.alpha * sum + update.beta * c[i];
  }
}

template <class T>
void multiply_deep(const Factors<T>& factors,
                   Index m,
                   Index n,
                   Index k,
                   const Update<T>& update,
                   const Target<T>& C) {
  const Index chunk =
      std::max(kMinChunk, round_up((k + kMaxChunks - 1) / kMaxChunks, simd::kDepth));
  const Index chunks = (k + chunk - 1) / chunk;
  const Index width = std::clamp(kPartialNumbers / (chunks * m), Index{1}, n);
  thread_local Scratch<T> scratch;
  const ScratchBuffer memory(scratch, chunks * m * width);
  T* partial = memory.data();
  for (Index j = 0; j < n; j += width) {
    const Range columns{j, std::min(n, j + width)};
    const auto multiply = [&](Index s) {
      multiply_range(factors,
                     {0, m},
                     columns,
                     {s * chunk, std::min(k, (s + 1) * chunk)},
                     Update<T>{1, 0},
                     Target<T>{partial + s * m * width, m});
    };
    const auto add = [&](Index q) {
      add_partials(partial + q * m, m * width, chunks, m, update, C.data + (j + q) * C.stride);
    };
    parallel_for(chunks, std::ref(multiply));
    parallel_for(columns.size(), std::ref(add));
  }
}

template <class T>
void scale(BlockOf<T> C, T beta) {
  if (beta == T{0}) {
    C.setZero();
  } else if (beta != T{1}) {
    C *= beta;
  }
}

template <class T>
Operand<T> operand(Trans trans, const ConstBlockOf<T>& A) {
  return {A.data(), A.outerStride(), trans == Trans::kYes};
}

/// gemm for both types of numbers.
template <class T>
void checked_product(Trans trans_a,
                     const ConstBlockOf<T>& A,
                     Trans trans_b,
                     const ConstBlockOf<T>& B,
                     BlockOf<T> C,
                     T alpha,
                     T beta) {
  const Index m = trans_a == Trans::kYes ? A.cols() : A.rows();
  const Index k = trans_a == Trans::kYes ? A.rows() : A.cols();
  const Index k_of_b = trans_b == Trans::kYes ? B.cols() : B.rows();
  const Index n = trans_b == Trans::kYes ? B.rows() : B.cols();
  require(k == k_of_b && C.rows() == m && C.cols() == n,
          "product: {} x {} times {} x {} does not give {} x {}",
          m,
          k,
          k_of_b,
          n,
          C.rows(),
          C.cols());
  if (m == 0 || n == 0) return;
  if (k == 0) {
    scale<T>(C, beta);
    return;
  }
  const Factors<T> factors{operand<T>(trans_a, A), operand<T>(trans_b, B), takes_blocks<T>(m, k)};
  const Target<T> target{C.data(), C.outerStride()};
  const auto multiply = is_deep(m, k) ? multiply_deep<T> : multiply_tiles<T>;
  multiply(factors, m, n, k, {alpha, beta}, target);
}

}  // namespace

// Blocks are views, passed by value.
// NOLINTBEGIN(performance-unnecessary-value-param)
void gemm(Trans trans_a,
          const ConstBlock& A,
          Trans trans_b,
          const ConstBlock& B,
          Block C,
          double alpha,
          double beta) {
  checked_product<double>(trans_a, A, trans_b, B, C, alpha, beta);
}

void gemm(Trans trans_a,
          const ConstBlockOf<float>& A,
          Trans trans_b,
          const ConstBlockOf<float>& B,
          BlockOf<float> C,
          float alpha,
          float beta) {
  checked_product<float>(trans_a, A, trans_b, B, C, alpha, beta);
}
// NOLINTEND(performance-unnecessary-value-param)

Matrix product(Trans trans_a, const ConstBlock& A, Trans trans_b, const ConstBlock& B) {
  Matrix C(trans_a == Trans::kYes ? A.cols() : A.rows(),
           trans_b == Trans::kYes ? B.rows() : B.cols());
  gemm(trans_a, A, trans_b, B, C);
  return C;
}

Matrix product(const ConstBlock& A, const ConstBlock& B) {
  return product(Trans::kNo, A, Trans::kNo, B);
}

Matrix transpose_product(const ConstBlock& A, const ConstBlock& B) {
  return product(Trans::kYes, A, Trans::kNo, B);
}

const char* instruction_set() { return simd::target_name(); }

void use_instruction_set(const std::string& name) { simd::choose_target(name); }

}  // namespace matapprox::kernels
