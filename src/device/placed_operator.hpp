#pragma once

#include <memory>

#include "device/cuda/card_operator.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// An operator whose products are computed on the card. Columns and rows of matrices that are
/// stored are gathered on the host; a kernel matrix makes them on the card.
class PlacedOperator final : public LinearOperator {
 public:
  PlacedOperator(std::shared_ptr<const LinearOperator> source,
                 std::unique_ptr<const cuda::CardOperator> card);

  const LinearOperator& source() const { return *source_; }
  const cuda::CardOperator& card() const { return *card_; }

  Index rows() const override { return source_->rows(); }
  Index cols() const override { return source_->cols(); }
  Vector diagonal() const override { return source_->diagonal(); }
  Cost cost() const override { return source_->cost(); }
  KnownFacts known_facts() const override { return source_->known_facts(); }
  std::string description() const override;
  const std::shared_ptr<const BlockPlace>& block_place() const override { return place_; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  void do_apply_in_place(bool transposed,
                         const ConstTallColumns& X,
                         const TallColumns& Y) const override;

  std::shared_ptr<const LinearOperator> source_;
  std::unique_ptr<const cuda::CardOperator> card_;
  std::shared_ptr<const BlockPlace> place_;
};

/// Puts A, which is_placeable, on the card; Chord factors as card_links says. Throws NotAvailable
/// if there is none or no room.
std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> A,
                                                  Index card_free_bytes);

}  // namespace matapprox
