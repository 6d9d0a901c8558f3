#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "device/block_workers.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/kernels/chord_pattern.hpp"
#include "methods/hierarchical/block_worker.hpp"
#include "mpi/chord_fit_rows.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"
#include "mpi/spread_matrix.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox::mpi {

/// A column-major block of this process's rows that lies with the program around us.
struct LocalBlock {
  const double* from = nullptr;
  Index from_stride = 0;
  double* to = nullptr;
  Index to_stride = 0;
};

/// What a process keeps between operations, by the numbers that the leader gave.
struct Store {
  struct Block {
    Index layout = 0;
    MultiVector own;  ///< its rows
  };
  std::map<Index, Layout> layouts;
  std::map<Index, Block> blocks;
  std::map<Index, std::unique_ptr<const SpreadMatrix>> matrices;
  std::map<Index, std::unique_ptr<ChordFitRows>> fits;
  std::map<Index, std::unique_ptr<blocks::BlockWorker>> block_workers;
  std::shared_ptr<const LocalBlock> local;  ///< null: there is none
  /// Opens a matrix in a file by its name; see SharedFiles.
  std::function<std::shared_ptr<const LinearOperator>(const std::string& name)> open;
};

/// Some neighboring columns of a block.
struct Part {
  Index block = 0;
  Index first = 0;
  Index cols = 0;
};

// An operation is what the leader asks of all processes, itself among them: a struct of its
// arguments, which go from the leader to the others as bytes, with
//
//   void perform(const Process&, Store&) const    called by all together
//
// Pointers are the leader's and mean nothing to the others. An exception that is not an
// AgreedFailure ends all processes: nobody knows what the others are waiting for.

struct AddLayout {
  Index layout;
  const Index* begins;  ///< one more than there are processes
  const Index* widths;
  Index stretches;
  void perform(const Process& process, Store& store) const;
};
struct RemoveLayout {
  Index layout;
  void perform(const Process& process, Store& store) const;
};

/// A block of `cols` columns with the rows of a layout.
struct Allocate {
  Index block;
  Index layout;
  Index cols;
  void perform(const Process& process, Store& store) const;
};
struct Release {
  Index block;
  void perform(const Process& process, Store& store) const;
};

// The functions of MemorySpace. Blocks of one operation that have as many rows have one layout.

struct Write {
  const double* host;
  Part to;
  void perform(const Process& process, Store& store) const;
};
struct Read {
  Part from;
  double* host;
  void perform(const Process& process, Store& store) const;
};
struct ReadRows {
  Part from;
  Index first;
  Index count;
  double* host;
  void perform(const Process& process, Store& store) const;
};
struct WriteRows {
  const double* host;
  Part to;
  Index first;
  Index count;
  void perform(const Process& process, Store& store) const;
};
/// Each process writes its rows into a file; `sum` of the leader is the checksum, or nothing.
struct WriteToFile {
  Part from;
  const FilePlace* place;
  std::optional<std::uint32_t>* sum;
  void perform(const Process& process, Store& store) const;
};
/// From and to the local blocks of all processes.
struct TakeLocal {
  Part to;
  void perform(const Process& process, Store& store) const;
};
struct GiveLocal {
  Part from;
  void perform(const Process& process, Store& store) const;
};
struct Copy {
  Part from;
  Part to;
  void perform(const Process& process, Store& store) const;
};
struct Zero {
  Part X;
  void perform(const Process& process, Store& store) const;
};
struct FillNormal {
  std::uint64_t seed;
  RandomStream stream;
  Index first_column;
  Part X;
  void perform(const Process& process, Store& store) const;
};
struct TransposeProduct {
  Part A;
  Part B;
  double* result;
  void perform(const Process& process, Store& store) const;
};
struct AddProduct {
  double alpha;
  Part A;
  const double* S;
  double beta;
  Part Y;
  void perform(const Process& process, Store& store) const;
};
struct ColumnNorms {
  Part A;
  double* norms;
  void perform(const Process& process, Store& store) const;
};
struct Largest {
  Part X;
  double* result;
  void perform(const Process& process, Store& store) const;
};
struct Scale {
  Part X;
  double factor;
  void perform(const Process& process, Store& store) const;
};
/// Rows first .. first + count - 1 alone.
struct ScaleRows {
  Part X;
  Index first;
  Index count;
  double factor;
  void perform(const Process& process, Store& store) const;
};
struct AdamStep {
  MemorySpace::Adam step;
  Part gradient;
  Part mean;
  Part square;
  Part x;
  void perform(const Process& process, Store& store) const;
};

/// A sparse matrix with the leader's entries; `transposed` is null if it is symmetric.
struct AddSparse {
  Index matrix;
  Index rows;  ///< layouts
  Index cols;
  bool symmetric;
  const SparseMatrix* values;
  const SparseMatrix* transposed;
  void perform(const Process& process, Store& store) const;
};
struct RemoveMatrix {
  Index matrix;
  void perform(const Process& process, Store& store) const;
};
/// Y = A X or A^T X.
struct Multiply {
  Index matrix;
  bool transposed;
  Part X;
  Part Y;
  void perform(const Process& process, Store& store) const;
};

/// A chain of Chord factors whose values are a column that chain_layout() deals; it has to stay as
/// it is as long as the matrix does.
struct AddChord {
  Index matrix;
  Index rows;  ///< layout
  Part values;
  bool transposed;
  bool symmetrized;
  const ChordPattern* pattern;
  void perform(const Process& process, Store& store) const;
};

/// The objective of a fit of Chord factors. `entries`: the columns are those of `target` over
/// `unit`; else they come with each panel.
struct AddChordFit {
  Index fit;
  Index rows;  ///< layout
  Index max_columns;
  bool symmetrized;
  bool entries;
  const ChordPattern* pattern;
  const SparseMatrix* target;
  double unit;
  void perform(const Process& process, Store& store) const;
};
struct RemoveChordFit {
  Index fit;
  void perform(const Process& process, Store& store) const;
};
/// Panel number `panel` of `panels` of one evaluation, the columns J: its part of the objective,
/// and after the last panel the gradient of all, unless that is no block.
struct EvaluateChordPanel {
  Index fit;
  Index panel;
  Index panels;
  const Index* J;
  Index columns;
  Part values;
  Part gradient;
  const double* target;  ///< row-major, all rows
  double* result;
  void perform(const Process& process, Store& store) const;
};

/// A kernel matrix with the leader's points, which are scaled to length 1 for the cosine.
struct AddKernel {
  Index matrix;
  Index layout;
  TileKernel kernel;
  Index dimension;
  const double* points;  ///< one a row, coordinate by coordinate
  void perform(const Process& process, Store& store) const;
};

/// A dense matrix Z with the leader's values, or Z^T Z.
struct AddDense {
  Index matrix;
  Index rows;  ///< layouts, of Z
  Index cols;
  bool is_covariance;    ///< Z^T Z
  const double* values;  ///< the columns of Z, one after the other
  void perform(const Process& process, Store& store) const;
};

/// A dense matrix in a file, which each process opens by its name, and of which it reads its rows:
/// into memory, unless `in_file` or where one process has not enough.
struct AddFile {
  Index matrix;
  Index rows;  ///< layouts
  Index cols;
  Index panel_rows;  ///< read at a time
  bool in_file;
  const std::string* name;
  void perform(const Process& process, Store& store) const;
};

/// A worker on each process for the blocks of one hierarchical fit.
struct AddBlockWorker {
  Index worker;
  const std::byte* setup;
  Index setup_bytes;
  void perform(const Process& process, Store& store) const;
};
struct RemoveBlockWorker {
  Index worker;
  void perform(const Process& process, Store& store) const;
};
/// Each process answers its own of the leader's requests.
struct AskBlockWorkers {
  Index worker;
  const std::vector<MessageBytes>* requests;
  std::vector<MessageBytes>* answers;
  void perform(const Process& process, Store& store) const;
};

/// Nothing more comes.
struct End {
  void perform(const Process& /*process*/, Store& /*store*/) const {}
};

using Operation = std::variant<End,
                               AddLayout,
                               RemoveLayout,
                               Allocate,
                               Release,
                               Write,
                               Read,
                               ReadRows,
                               WriteRows,
                               WriteToFile,
                               TakeLocal,
                               GiveLocal,
                               Copy,
                               Zero,
                               FillNormal,
                               TransposeProduct,
                               AddProduct,
                               ColumnNorms,
                               Largest,
                               Scale,
                               ScaleRows,
                               AdamStep,
                               AddSparse,
                               RemoveMatrix,
                               Multiply,
                               AddChord,
                               AddChordFit,
                               RemoveChordFit,
                               EvaluateChordPanel,
                               AddKernel,
                               AddDense,
                               AddFile,
                               AddBlockWorker,
                               RemoveBlockWorker,
                               AskBlockWorkers>;
static_assert(std::is_trivially_copyable_v<Operation>);

}  // namespace matapprox::mpi
