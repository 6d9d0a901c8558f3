#include "methods/chord/row_preconditioner.hpp"

#include <algorithm>

#include "kernels/soap.hpp"
#include "matapprox/core/threads.hpp"
#include "methods/checkpoint_clock.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr double kProductDecay = 0.98;

std::vector<Index> links_of(const ChordPattern& pattern) {
  std::vector<Index> links;
  for (Index m = 0; m < pattern.factors(); ++m) links.push_back(pattern.links(m));
  return links;
}

Index blocks_of(Index order) { return (order + kernels::kSoapRows - 1) / kernels::kSoapRows; }

}  // namespace

RowPreconditioner::RowPreconditioner(Index order, std::vector<Index> links)
    : order_(order), links_(std::move(links)) {
  Index size = 0;
  for (const Index K : links_) size += blocks() * kernels::soap_block_size(K);
  numbers_.resize(static_cast<std::size_t>(size));
  reset();
}

RowPreconditioner::RowPreconditioner(const ChordPattern& pattern)
    : RowPreconditioner(pattern.order, links_of(pattern)) {}

double RowPreconditioner::size_of(const ChordPattern& pattern) {
  double size = 0;
  for (const Index K : links_of(pattern)) {
    size += static_cast<double>(blocks_of(pattern.order)) *
            static_cast<double>(kernels::soap_block_size(K));
  }
  return size;
}

Index RowPreconditioner::blocks() const { return blocks_of(order_); }

Vector RowPreconditioner::numbers() const {
  return Eigen::Map<const Eigen::VectorXf>(numbers_.data(), static_cast<Index>(numbers_.size()))
      .cast<double>();
}

void RowPreconditioner::set_numbers(const Vector& numbers) {
  require_consistent(numbers.size() == static_cast<Index>(numbers_.size()) && numbers.allFinite(),
                     "chord");
  std::transform(numbers.begin(), numbers.end(), numbers_.begin(), [](double number) {
    return static_cast<float>(number);
  });
}

void RowPreconditioner::reset() {
  float* block = numbers_.data();
  for (const Index K : links_) {
    for (Index b = 0; b < blocks(); ++b, block += kernels::soap_block_size(K))
      kernels::start_soap(K, block);
  }
}

void RowPreconditioner::step(
    const MemorySpace::Adam& adam, Index number, const double* gradient, double* mean, double* x) {
  const kernels::SoapStep step{.number = number,
                               .mean_decay = adam.mean_decay,
                               .square_decay = adam.square_decay,
                               .product_decay = kProductDecay,
                               .mean_step = adam.mean_step,
                               .square_scale = adam.square_scale,
                               .epsilon = adam.epsilon};
  float* of_factor = numbers_.data();
  for (const Index K : links_) {
    parallel_for(blocks(), [&](Index b) {
      const Index first = b * kernels::kSoapRows;
      kernels::soap_step(step,
                         std::min(kernels::kSoapRows, order_ - first),
                         K,
                         gradient + first * K,
                         mean + first * K,
                         of_factor + b * kernels::soap_block_size(K),
                         x + first * K);
    });
    of_factor += blocks() * kernels::soap_block_size(K);
    gradient += order_ * K;
    mean += order_ * K;
    x += order_ * K;
  }
}

}  // namespace matapprox::chord_fit
