#pragma once

#include <memory>
#include <variant>

#include "device/cuda/card_operator.hpp"
#include "device/cuda/kernels/chord_fit.hpp"

namespace matapprox::cuda {

/// A kernel matrix over a unit.
struct ChordKernel {
  HostKernel matrix;
  double unit = 1;
};
/// A sparse matrix over a unit, as the compressed rows of its transpose.
struct ChordSparse {
  HostSparse columns;
  double unit = 1;
};
/// Where columns of a target come from: from the host, or from what is copied to the card when the
/// fit is made.
using ChordSource = std::variant<TargetColumns, ChordKernel, ChordSparse>;

/// ChordFit on a card, behind a wall: what includes this needs no CUDA compiler. One thread at a
/// time; all functions throw NotAvailable if the card fails or is full.
class CardChordFit {
 public:
  virtual ~CardChordFit() = default;
  CardChordFit(const CardChordFit&) = delete;
  CardChordFit(CardChordFit&&) = delete;
  CardChordFit& operator=(const CardChordFit&) = delete;
  CardChordFit& operator=(CardChordFit&&) = delete;

  /// The memory that values and gradients lie in.
  virtual std::shared_ptr<const CardBlocks> blocks() const = 0;
  /// As ChordFit.
  virtual double evaluate(const Index* columns,
                          Index count,
                          const double* values,
                          double* gradient) = 0;

 protected:
  CardChordFit() = default;
};

/// On the first card; a target from the host is copied there as a whole if it takes at most half of
/// the free memory and most_columns is the order.
std::unique_ptr<CardChordFit> make_card_chord_fit(const ChordShape& shape,
                                                  Index most_columns,
                                                  const ChordSource& source);

}  // namespace matapprox::cuda
