#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "device/processes.hpp"
#include "io/positioned_write.hpp"
#include "kernels/adam.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/kernels/chord.hpp"
#include "methods/hierarchical/workers.hpp"
#include "mpi/chord_fit_rows.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"
#include "mpi/spread_matrix.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox::mpi {

/// A column-major block of this process's rows in the memory of the calling program.
struct LocalBlock {
  const double* from = nullptr;
  Index from_stride = 0;
  double* to = nullptr;
  Index to_stride = 0;
};

/// Objects that a process keeps between operations, by the numbers that the leader assigned.
struct Store {
  struct Block {
    Index layout = 0;
    MultiVector own;  ///< this process's rows
  };
  std::map<Index, Layout> layouts;
  std::map<Index, Block> blocks;
  std::map<Index, std::unique_ptr<const SpreadMatrix>> matrices;
  std::map<Index, std::unique_ptr<ChordFitRows>> fits;
  std::map<Index, std::unique_ptr<blocks::BlockWorker>> block_workers;
  std::shared_ptr<const LocalBlock> local;  ///< null if there is none
  /// Opens a matrix in a file by its name; see SharedFiles.
  std::function<std::shared_ptr<const LinearOperator>(const std::string& name)> open;
};

/// Contiguous columns of a block.
struct Part {
  Index block = 0;
  Index first = 0;
  Index cols = 0;
};

// An operation is a request of the leader to all processes, including itself: a struct of its
// arguments, which the leader sends to the others as bytes. Pointers are valid on the leader only.

struct AddLayout {
  Index number;
  const Layout* layout;
};

/// Removes the object with this number, of whatever kind.
struct Remove {
  Index number;
};

/// Allocates a block of `cols` columns with the rows of a layout.
struct Allocate {
  Index block;
  Index layout;
  Index cols;
};

// The functions of MemorySpace. Blocks of one operation with equally many rows have one layout.

/// Copies the rows first .. first + count - 1 to the leader, whose columns are `apart` numbers
/// apart, or from it. `count` is within the range of int.
struct ReadRows {
  Part from;
  Index first;
  Index count;
  double* host;
  Index apart;
};
struct WriteRows {
  const double* host;
  Index apart;
  Part to;
  Index first;
  Index count;
};
/// Each process writes its rows into a file. On the leader, `sum` becomes the checksum, or nothing.
struct WriteToFile {
  Part from;
  const FilePlace* place;
  std::optional<std::uint32_t>* sum;
};
/// Copies from and to the local blocks of all processes.
struct TakeLocal {
  Part to;
};
struct GiveLocal {
  Part from;
};
struct Copy {
  Part from;
  Part to;
};
struct Zero {
  Part X;
};
struct FillNormal {
  std::uint64_t seed;
  RandomStream stream;
  Index first_column;
  Part X;
};
struct TransposeProduct {
  Part A;
  Part B;
  double* result;
};
struct AddProduct {
  double alpha;
  Part A;
  const double* S;
  double beta;
  Part Y;
};
struct ColumnNorms {
  Part A;
  double* norms;
};
struct Largest {
  Part X;
  double* result;
};
struct Scale {
  Part X;
  double factor;
};
/// Scales only the rows first .. first + count - 1.
struct ScaleRows {
  Part X;
  Index first;
  Index count;
  double factor;
};
struct AdamStep {
  kernels::AdamStep step;
  Part gradient;
  Part mean;
  Part square;
  Part x;
};

/// Distributes the leader's sparse matrix; `transposed` is unused if it is symmetric.
struct AddSparse {
  Index matrix;
  Index rows;  ///< numbers of layouts
  Index cols;
  bool symmetric;
  const SparseMatrix* values;
  const SparseMatrix* transposed;
};
/// Computes Y = A X or A^T X.
struct Multiply {
  Index matrix;
  bool transposed;
  Part X;
  Part Y;
};

/// A chain of Chord factors whose values are a column with the layout chain_layout(). The column
/// must not change as long as the matrix exists.
struct AddChord {
  Index matrix;
  Index rows;  ///< number of a layout
  Part values;
  bool transposed;
  bool symmetrized;
  const ChordPattern* pattern;
};

/// The objective of a fit of Chord factors. If `entries`, the target's columns are those of
/// `target` / `unit`; else they come with each panel.
struct AddChordFit {
  Index fit;
  Index rows;  ///< number of a layout
  Index max_columns;
  bool symmetrized;
  bool entries;
  const ChordPattern* pattern;
  const SparseMatrix* target;
  double unit;
};
/// Evaluates panel number `panel` of `panels` of one evaluation, for the columns J. Gives its part
/// of the objective, and after the last panel the whole gradient, unless `gradient` is empty.
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
};

/// Distributes a kernel matrix with the leader's points, scaled to length 1 for the cosine.
struct AddKernel {
  Index matrix;
  Index layout;
  TileKernel kernel;
  Index dimension;
  const double* points;  ///< one per row, column-major
};

/// Distributes the leader's dense matrix Z, as the operator Z or Z^T Z.
struct AddDense {
  Index matrix;
  Index rows;  ///< numbers of layouts, for Z
  Index cols;
  bool is_covariance;    ///< true for Z^T Z
  const double* values;  ///< the columns of Z, one after the other
};

/// A dense matrix in a file, which each process opens by its name. Each process reads its rows into
/// memory, unless `in_file` is set or a process does not have enough memory.
struct AddFile {
  Index matrix;
  Index rows;  ///< numbers of layouts
  Index cols;
  Index panel_rows;  ///< rows read at a time
  bool in_file;
  const std::string* name;
};

/// Creates a worker on each process for the blocks of one hierarchical fit.
struct AddBlockWorker {
  Index worker;
  const MessageBytes* setup;
};
/// Each process answers its part of the leader's requests.
struct AskBlockWorkers {
  Index worker;
  const std::vector<MessageBytes>* requests;
  std::vector<MessageBytes>* answers;
};

/// Ends the serve loop.
struct End {};

using Operation = std::variant<End,
                               AddLayout,
                               Remove,
                               Allocate,
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
                               Multiply,
                               AddChord,
                               AddChordFit,
                               EvaluateChordPanel,
                               AddKernel,
                               AddDense,
                               AddFile,
                               AddBlockWorker,
                               AskBlockWorkers>;
static_assert(std::is_trivially_copyable_v<Operation>);

/// Performs an operation; called by all processes together. Throws AgreedFailure. Any other
/// exception ends all processes, since the others may be waiting in an exchange.
void perform(const Process& process, Store& store, const Operation& operation);

}  // namespace matapprox::mpi
