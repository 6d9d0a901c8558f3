#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/kernels/chord.hpp"
#include "mpi/reserved_numbers.hpp"
#include "mpi/spread_chain.hpp"

namespace matapprox::mpi {

/// One process's part of the objective of a Chord fit, for its rows of the factors. The objective f
/// and its gradient are bit-identical to kernels::chord_objective on the whole chain.
///
/// Memory: M + 1 panels (one more if symmetrized). Addresses are reserved for all N rows of a
/// panel; only the rows of this process and those that it is linked to take memory. In addition: a
/// transposed copy of the process's values, the entries of its rows of the target, and its part of
/// up to eight gradients if all of them together are small. All processes call it together.
class ChordFitRows {
 public:
  struct Options {
    bool symmetrized = false;
    Index max_columns = 1;  ///< columns in one evaluation, at most
  };
  /// `rows`: layout of the rows of each factor.
  ChordFitRows(const Process& process,
               const Layout& rows,
               ChordPattern pattern,
               const Options& options);

  /// From now on, the target's columns are those of `own_rows` / unit, where `own_rows` has this
  /// process's rows with all columns.
  void set_target(const SparseMatrix& own_rows, double unit);

  /// One panel of an evaluation. Panels are evaluated in order, from 0 to panels - 1.
  struct Panel {
    Index panel = 0;
    Index panels = 1;
    std::span<const Index> columns;
    const double* target = nullptr;  ///< leader: row-major, all rows; unused after set_target
  };
  /// Returns the panel's part of f on the leader. After the last panel, `gradient`, unless null, is
  /// the gradient over all panels. Values and gradient are those of this process's rows. Throws
  /// AgreedFailure if a process runs out of memory.
  double evaluate_panel(const Process& process,
                        const Panel& panel,
                        const double* values,
                        double* gradient);

 private:
  using Form = kernels::ChordForm;
  struct Entry {
    Index column;
    Index row;
    double value;
  };

  SpreadChain::Factor factor(Index m, bool transposed) const;
  double* panel(Index m) { return panels_.data() + m * panel_numbers_; }
  Index own_numbers() const { return chain_.first_value(chain_.factors()); }

  void prepare(const Process& process, const Panel& first, double* gradient);
  void multiply(const Process& process, Index m, bool transposed, double* x, double* y);
  void last_factor_columns(double* Y);
  void first_factor_rows(double* Y);
  const double* transposed_columns(const Process& process);
  void average(double* t, const double* u) const;
  void target_columns(const Process& process, const double* all, double* X);
  double subtract_and_square(const Process& process, double* t, double* x);
  double sum_of_chunks(const Process& process, const std::vector<double>& own) const;
  void exchange_chunks(const Process& process, double* t) const;
  void add_gradient(const Process& process, double* sum);
  void sum_slots(double* gradient) const;
  void clear(double* Y) const;

  Layout rows_;
  SpreadChain chain_;
  Form form_;
  const kernels::simd::ChordFunctions<double>& simd_;
  Index panel_numbers_;
  ReservedNumbers panels_;
  std::vector<Entry> entries_;  ///< sorted by column
  bool has_entries_ = false;

  // State of the current evaluation.
  const double* values_ = nullptr;
  std::vector<double> transposed_values_;
  SpreadChain::Buffers buffers_;
  Index slots_ = 1;
  std::vector<double> sums_;  ///< gradients, one after the other; empty if there is only one slot
  std::span<const Index> columns_;
  Index width_ = 0;
};

}  // namespace matapprox::mpi
