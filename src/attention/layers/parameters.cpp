#include "matapprox/attention/layers/parameters.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "matapprox/core/options.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

constexpr Index kMaxNumbers = Index{1} << 40;

/// Returns the row of random numbers that belongs to a parameter: FNV-1a of its name.
Index row_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  return static_cast<Index>(hash & ((std::uint64_t{1} << 48) - 1));
}

/// Returns the initial value of entry i of a parameter with `cols` columns, whose random numbers
/// are those of `row`.
double draw(const Initial& initial, std::uint64_t seed, Index row, Index i, Index cols) {
  constexpr RandomStream stream = RandomStream::kAttentionStart;
  switch (initial.distribution) {
    case Initial::Distribution::kConstant:
      return initial.scale;
    case Initial::Distribution::kFirstColumn:
      return i % cols == 0 ? initial.scale : 0;
    case Initial::Distribution::kUniform:
      return initial.scale * (2 * random_uniform(seed, stream, row, i) - 1);
    case Initial::Distribution::kNormal:
      return initial.scale * random_normal(seed, stream, row, i);
    case Initial::Distribution::kTruncatedNormal:
    case Initial::Distribution::kOrthogonal:
      break;
  }
  // Draws again, further along the row, until the number is within two standard deviations.
  constexpr Index kAgain = Index{1} << 32;
  for (Index j = i;; j += kAgain) {
    const double x = random_normal(seed, stream, row, j);
    if (std::abs(x) <= 2) return initial.scale * x;
  }
}

/// Fills a parameter with blocks of d orthogonal rows. The first d x d random numbers of a block
/// give the directions, and d more for each row give its norm.
void draw_orthogonal(const Parameter& p, std::uint64_t seed, Index row, double* values) {
  const Initial normal = Initial::normal(1);
  const Index d = p.cols;
  Matrix block(d, d);
  TokenMap<double> all(values, p.rows, d);
  for (Index first = 0; first < p.rows; first += d) {
    const Index begin = 2 * first * d;  // start of this block's numbers
    for (Index i = 0; i < d * d; ++i) block(i % d, i / d) = draw(normal, seed, row, begin + i, d);
    // Columns of Q are uniformly distributed if R has a positive diagonal. [Mez07]
    const Eigen::HouseholderQR<Matrix> qr(block);
    Matrix Q = qr.householderQ();
    for (Index j = 0; j < d; ++j) {
      if (qr.matrixQR()(j, j) < 0) Q.col(j) = -Q.col(j);
    }
    for (Index r = 0; r < std::min(d, p.rows - first); ++r) {
      double square = 0;
      for (Index i = 0; i < d; ++i) {
        const double x = draw(normal, seed, row, begin + (d + r) * d + i, d);
        square += x * x;
      }
      all.row(first + r) = std::sqrt(square) * Q.col(r).transpose();
    }
  }
}

}  // namespace

const Parameter* ParameterList::lookup(std::string_view name) const {
  const auto found = std::find_if(
      parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

const Parameter& ParameterList::add(const std::string& name,
                                    Index rows,
                                    Index cols,
                                    Initial initial) {
  require(lookup(name) == nullptr, "attention: two parameters have the name {}", name);
  require(rows > 0 && cols > 0, "attention: the parameter {} is {} x {}", name, rows, cols);
  require(rows <= (kMaxNumbers - size_) / cols,
          "attention: with the parameter {}, {} x {}, the model has more than 2^40 numbers",
          name,
          rows,
          cols);
  parameters_.push_back({name, rows, cols, size_, initial});
  size_ += rows * cols;
  return parameters_.back();
}

const Parameter& ParameterList::add_shared(const std::string& name,
                                           Index rows,
                                           Index cols,
                                           Initial initial) {
  const Parameter* found = lookup(name);
  if (found == nullptr) return add(name, rows, cols, initial);
  require(found->rows == rows && found->cols == cols,
          "attention: the shared parameter {} is {} x {}, not {} x {}",
          name,
          found->rows,
          found->cols,
          rows,
          cols);
  return *found;
}

const Parameter& ParameterList::find(std::string_view name) const {
  if (const Parameter* found = lookup(name)) return *found;
  std::vector<std::string> names;
  for (const Parameter& p : parameters_) names.push_back(p.name);
  throw InvalidArgument(
      fmt::format("attention: there is no parameter '{}'{}", name, suggestion(name, names)));
}

void ParameterList::set_trained(std::string_view prefix, bool trained) {
  for (Parameter& p : parameters_) {
    if (p.name.starts_with(prefix)) p.trained = trained;
  }
}

template <class T>
std::vector<T> ParameterList::initial_values(std::uint64_t seed) const {
  std::vector<T> values(static_cast<std::size_t>(size_));
  for (const Parameter& p : parameters_) {
    const Index row = row_of(p.name);
    if (p.initial.distribution == Initial::Distribution::kOrthogonal) {
      std::vector<double> drawn(static_cast<std::size_t>(p.size()));
      draw_orthogonal(p, seed, row, drawn.data());
      std::transform(drawn.begin(), drawn.end(), values.begin() + p.offset, [](double x) {
        return static_cast<T>(x);
      });
      continue;
    }
    for (Index i = 0; i < p.size(); ++i)
      values[static_cast<std::size_t>(p.offset + i)] = T(draw(p.initial, seed, row, i, p.cols));
  }
  return values;
}

template std::vector<float> ParameterList::initial_values(std::uint64_t) const;
template std::vector<double> ParameterList::initial_values(std::uint64_t) const;

}  // namespace matapprox::attention
