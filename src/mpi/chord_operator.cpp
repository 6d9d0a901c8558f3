#include "mpi/chord_operator.hpp"

#include <fmt/format.h>

namespace matapprox::mpi {

Layout chain_layout(const Layout& rows, const ChordPattern& pattern) {
  std::vector<Index> links;
  for (Index m = 0; m < pattern.factors(); ++m) links.push_back(pattern.links(m));
  return {rows.begins(), std::move(links)};
}

bool ChordOperator::takes(const LinearOperator& A) {
  const auto* product = dynamic_cast<const FactorProduct*>(&A);
  return product != nullptr && product->factors().size() == 1 &&
         std::holds_alternative<ChordFactors>(*product->factors().front().value);
}

ChordOperator::ChordOperator(std::shared_ptr<Leader> leader,
                             std::shared_ptr<const FactorProduct> source)
    : source_(std::move(source)), matrix_(leader->next_number()) {
  const Factor& factor = source_->factors().front();
  const auto& chain = std::get<ChordFactors>(*factor.value);
  const Layout rows = even_layout(chain.pattern.order, leader->processes());
  ranks_ = std::make_shared<const RanksSpace>(leader, std::vector{rows});
  space_ = ranks_;
  // Needed only until the values are dealt.
  const RanksSpace values(leader, {chain_layout(rows, chain.pattern)});
  leader->run(AddChord{matrix_,
                       ranks_->layout_number(chain.pattern.order),
                       values.layout_number(chain.pattern.stored_numbers()),
                       factor.transposed,
                       source_->symmetrized(),
                       &chain.pattern,
                       chain.values.data()});
}

ChordOperator::~ChordOperator() { ranks_->leader()->run_to_end(RemoveMatrix{matrix_}); }

std::string ChordOperator::description() const {
  return fmt::format(
      "{}, over {} processes", source_->description(), ranks_->leader()->processes());
}

void ChordOperator::do_apply(const ConstBlock& X, Block Y) const {
  Y = to_host(apply(MultiVector(space_, X).columns()).columns());
}

void ChordOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  Y = to_host(apply_transpose(MultiVector(space_, X).columns()).columns());
}

void ChordOperator::do_apply_in_place(bool transposed,
                                      const ConstMultiVectorView& X,
                                      const MultiVectorView& Y) const {
  multiply(*ranks_, matrix_, transposed, X, Y);
}

}  // namespace matapprox::mpi
