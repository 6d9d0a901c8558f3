#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// The inner parts of softmax attention for T = float and double, by one thread, compiled once per
// instruction set. A run of queries meets one chunk of keys after the other. Numbers of a run lie
// with the queries beside each other (W of them, whole vectors, so that maxima, exponentials and
// sums need no shuffles); keys, values and their gradients lie as they are, row after row.
//
// Scores are in powers of two: queries come multiplied by log2(e) / sqrt(p), and P = 2^(S - m).
// The relative error of 2^x for x <= 0 is below 1.2 eps; what is below the normal numbers is 0.

/// Keys of a chunk at most; as many columns as a word of keep_bits has.
inline constexpr Index kChunkKeys = 64;

/// Which entries of a chunk's scores count, and what dropout leaves of them.
template <class T>
struct ChunkMask {
  const std::uint8_t* tokens = nullptr;  ///< of the keys: 0 is padding; null: there is none
  /// Key b of the chunk is seen by query a of the run where a + before >= b.
  bool causal = false;
  Index before = 0;
  /// Of query a, bit b: whether its probability of key b is kept; null: no dropout. What is kept is
  /// multiplied by keep_scale.
  const std::uint64_t* keep = nullptr;
  T keep_scale = 1;
};

/// Rows of a matrix, `stride` numbers apart.
template <class T>
struct TileRows {
  T* data = nullptr;
  Index stride = 0;
};

/// A run of `rows` queries, W >= rows of them in the arrays, the rest zeros.
template <class T>
struct ForwardRun {
  Index run = 0;               ///< W
  Index width = 0;             ///< p, of queries and keys
  Index value_width = 0;       /// v
  const T* queries = nullptr;  ///< p x W
  T* largest = nullptr;        ///< W: -inf before the first chunk
  T* sums = nullptr;           ///< W: 0 before the first chunk
  T* result = nullptr;         ///< ceil8(v) x W: sum_j 2^(s_j - largest) v_j
  T* scratch = nullptr;        ///< kChunkKeys x W
};

template <class T>
struct BackwardRun {
  Index run = 0;
  Index rows = 0;
  Index width = 0;
  Index value_width = 0;
  const T* queries = nullptr;            ///< p x W, as in the forward pass
  const T* gradients = nullptr;          ///< v x W: dH / sqrt(p)
  const T* log_sums = nullptr;           ///< W: log2 of each row's sum of powers
  const T* means = nullptr;              ///< W: <H, dH> / sqrt(p)
  TileRows<const T> query_rows = {};     ///< rows x p: Q, in rows padded to whole vectors
  TileRows<const T> gradient_rows = {};  ///< rows x v: dH, the same
  T* query_gradient = nullptr;           ///< ceil8(p) x W: dQ, added to
  T* scratch = nullptr;                  ///< 2 kChunkKeys x W
};

template <class T>
struct SoftmaxTiles {
  Index lanes;    ///< queries of a vector
  Index vectors;  ///< vectors of a run, at most

  /// out (width x W) = factor X^T for `rows` <= W rows of X; the rest is zeros.
  void (*transpose)(TileRows<const T> X, Index rows, Index width, T factor, Index run, T* out);
  /// X (rows x width) = factors o in^T for in (width x W) and one factor a row.
  void (*transpose_back)(
      const T* in, Index run, Index rows, Index width, const T* factors, TileRows<T> X);
  /// Adds `count` keys.
  void (*forward)(const ForwardRun<T>& run,
                  TileRows<const T> keys,
                  TileRows<const T> values,
                  Index count,
                  const ChunkMask<T>& mask);
  /// Adds to the gradients of `count` keys and values, whose rows are padded to whole vectors, and
  /// to that of the queries.
  void (*backward)(const BackwardRun<T>& run,
                   TileRows<const T> keys,
                   TileRows<const T> values,
                   Index count,
                   const ChunkMask<T>& mask,
                   TileRows<T> key_gradient,
                   TileRows<T> value_gradient);
};

/// Of the instruction set that the dispatch took.
template <class T>
const SoftmaxTiles<T>& softmax_tiles();

/// How softmax_blocks() packs X or its transpose, as amx.hpp describes it.
enum class BlockForm { kLeft, kLeftOfTranspose, kRight, kRightOfTranspose };

/// The same by AMX: runs and chunks are packed in blocks first. Chunks are of the same size, runs
/// of 64 queries.
struct SoftmaxBlocks {
  static constexpr Index kRun = 64;

  /// Packs X (rows x width, at most 64 rows), a transpose times factor; with zeros for what a right
  /// factor, or a transpose, lacks of 64 rows.
  void (*pack)(
      TileRows<const float> X, Index rows, Index width, BlockForm form, float factor, float* out);
  /// `run.queries` is a packed right factor, of the transpose; result ceil16(v) x W; scratch W x
  /// kChunkKeys and a packed right factor of so many.
  void (*forward)(const ForwardRun<float>& run,
                  const float* keys,
                  const float* values_of_transpose,
                  Index count,
                  const ChunkMask<float>& mask);
  /// `run.queries` and `run.gradients` are packed right factors, of the transposes, query_rows and
  /// gradient_rows packed right factors; query_gradient ceil16(p) x W; the gradients of keys and
  /// values ceil16 numbers wide; scratch 2 W x kChunkKeys and three packed factors of so many.
  void (*backward)(const BackwardRun<float>& run,
                   const float* keys,
                   const float* keys_of_transpose,
                   const float* values,
                   Index count,
                   const ChunkMask<float>& mask,
                   float* key_gradient,
                   float* value_gradient);
};

/// Null where there is no AMX, or it is not in use.
const SoftmaxBlocks* softmax_blocks();

}  // namespace matapprox::kernels
