#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Inner loops of softmax attention for T = float and double, on the calling thread, compiled once
// per instruction set. A run of queries processes one chunk of keys after the other. Arrays of a
// run have the queries side by side (W of them, whole vectors, so that maxima, exponentials and
// sums need no shuffles). Keys, values and their gradients stay in row-major order.
//
// Scores are in powers of two: queries are multiplied by log2(e) / sqrt(p), and P = 2^(S - m). The
// relative error of 2^x for x <= 0 is below 1.2 eps; results below the normal numbers are 0.

/// Largest number of keys in a chunk: the number of columns in a word of keep_bits.
inline constexpr Index kChunkKeys = 64;

/// Determines which entries of a chunk's scores count, and which of them dropout keeps.
template <class T>
struct ChunkMask {
  const std::uint8_t* tokens = nullptr;  ///< a byte per key, 0 for padding; null: no padding
  /// If causal, query a of the run attends to key b of the chunk only if a + before >= b.
  bool causal = false;
  Index before = 0;
  /// Bit b of word a is set if dropout keeps the probability of key b for query a; null: no
  /// dropout. Kept probabilities are multiplied by keep_scale.
  const std::uint64_t* keep = nullptr;
  T keep_scale = 1;
};

/// Rows of a matrix, `stride` numbers apart.
template <class T>
struct TileRows {
  T* data = nullptr;
  Index stride = 0;
};

/// A chunk of at most kChunkKeys keys, with their values.
template <class T>
struct KeyChunk {
  TileRows<const T> keys = {};
  TileRows<const T> values = {};
  Index count = 0;
  ChunkMask<T> mask = {};
};

/// A run of queries. Arrays have W of them; those beyond the run's queries are zeros.
template <class T>
struct ForwardRun {
  Index run = 0;               ///< W
  Index width = 0;             ///< p, width of queries and keys
  Index value_width = 0;       ///< v
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
  TileRows<const T> gradient_rows = {};  ///< rows x v: dH, padded likewise
  T* query_gradient = nullptr;           ///< ceil8(p) x W: dQ, added to
  T* scratch = nullptr;                  ///< 2 kChunkKeys x W
};

template <class T>
struct SoftmaxTiles {
  Index lanes;    ///< queries per vector
  Index vectors;  ///< largest number of vectors in a run

  /// out (width x W) = factor X^T for `rows` <= W rows of X; the rest is zeros.
  void (*transpose)(TileRows<const T> X, Index rows, Index width, T factor, Index run, T* out);
  /// X (rows x width) = factors o in^T for in (width x W) and one factor per row.
  void (*transpose_back)(
      const T* in, Index run, Index rows, Index width, const T* factors, TileRows<T> X);
  /// Adds a chunk of keys to a run.
  void (*forward)(const ForwardRun<T>& run, const KeyChunk<T>& chunk);
  /// Adds to the gradients of a chunk's keys and values, whose rows are padded to whole vectors,
  /// and to the gradient of the queries.
  void (*backward)(const BackwardRun<T>& run,
                   const KeyChunk<T>& chunk,
                   TileRows<T> key_gradient,
                   TileRows<T> value_gradient);
};

/// Returns the functions for the instruction set that the dispatch selected.
template <class T>
const SoftmaxTiles<T>& softmax_tiles();

/// Packed form of X or its transpose for softmax_blocks(), see amx.hpp.
enum class BlockForm { kLeft, kLeftOfTranspose, kRight, kRightOfTranspose };

/// The functions of SoftmaxTiles on AMX: runs and chunks are packed in blocks first. Chunks have
/// the same size; runs have 64 queries.
struct SoftmaxBlocks {
  static constexpr Index kRun = 64;

  /// Packs X (rows x width, at most 64 rows), or its transpose times `factor`. Right factors and
  /// transposes of fewer than 64 rows are padded with zeros.
  void (*pack)(
      TileRows<const float> X, Index rows, Index width, BlockForm form, float factor, float* out);
  /// `run.queries` is a packed right factor of the transpose. The result is ceil16(v) x W. Scratch
  /// holds W x kChunkKeys numbers and a packed right factor of that size.
  void (*forward)(const ForwardRun<float>& run,
                  const float* keys,
                  const float* values_of_transpose,
                  Index count,
                  const ChunkMask<float>& mask);
  /// `run.queries` and `run.gradients` are packed right factors of the transposes, query_rows and
  /// gradient_rows packed right factors. query_gradient is ceil16(p) x W. Rows of the gradients of
  /// keys and values are ceil16 numbers wide. Scratch holds 2 W x kChunkKeys numbers and three
  /// packed factors of W x kChunkKeys.
  void (*backward)(const BackwardRun<float>& run,
                   const float* keys,
                   const float* keys_of_transpose,
                   const float* values,
                   Index count,
                   const ChunkMask<float>& mask,
                   float* key_gradient,
                   float* value_gradient);
};

/// Returns null if there is no AMX or it is not in use.
const SoftmaxBlocks* softmax_blocks();

}  // namespace matapprox::kernels
