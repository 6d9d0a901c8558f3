#include <cstring>
#include <limits>

#include "fuzz_target.hpp"
#include "matapprox/factors/block_matrix.hpp"
#include "matapprox/factors/packed.hpp"
#include "matapprox/factors/permutation.hpp"

// Values in few bits, and permutations, as a file may contain them. A value that is not refused
// must multiply, forward and transposed, without reading beyond its arrays.

namespace {

using matapprox::Index;
using matapprox::Matrix;

/// Reads numbers and arrays from the start of the input; zeros after its end.
class Feed {
 public:
  explicit Feed(std::string_view bytes) : rest_(bytes) {}

  template <class Number>
  Number number() {
    Number value{};
    const std::size_t count = std::min(sizeof(Number), rest_.size());
    if (count > 0) std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  /// Returns a small size, or occasionally an arbitrary one.
  Index size() {
    const auto byte = number<std::uint8_t>();
    return byte == 255 ? number<Index>() : byte % 80;
  }
  template <class Number>
  std::vector<Number> array() {
    const std::size_t bytes =
        std::min<std::size_t>(number<std::uint8_t>() * sizeof(Number), rest_.size());
    std::vector<Number> values(bytes / sizeof(Number));
    if (!values.empty()) {
      std::memcpy(values.data(), rest_.data(), values.size() * sizeof(Number));
    }
    rest_.remove_prefix(values.size() * sizeof(Number));
    return values;
  }

 private:
  std::string_view rest_;
};

template <class Value>
void multiply(const Value& value) {
  constexpr Index kAffordable = 4096;
  if (value.rows() > kAffordable || value.cols() > kAffordable) return;
  for (const Index columns : {1, 9}) {
    const Matrix forward = value.apply(Matrix::Ones(value.cols(), columns));
    const Matrix backward = value.apply_transpose(Matrix::Ones(value.rows(), columns));
    matapprox::fuzz::demand(forward.rows() == value.rows() && backward.rows() == value.cols());
  }
}

matapprox::PackedMatrix::Content packed_content(Feed& feed) {
  matapprox::PackedMatrix::Content content;
  content.rows = feed.size();
  content.cols = feed.size();
  content.group = feed.size();
  content.unit = feed.number<float>();
  content.offset = feed.number<float>();
  content.bits = feed.array<std::uint8_t>();
  content.scales = feed.array<float>();
  content.data = feed.array<std::uint8_t>();
  return content;
}

void read_blocks(Feed& feed) {
  matapprox::BlockMatrix::Content content;
  content.rows = feed.size();
  content.cols = feed.size();
  content.symmetric = feed.number<std::uint8_t>() % 2 == 1;
  content.unit = feed.number<float>();
  content.offset = feed.number<float>();
  const auto leaves = feed.number<std::uint8_t>() % 8;
  for (int k = 0; k < leaves; ++k) {
    matapprox::BlockLeaf leaf;
    leaf.row = feed.size();
    leaf.rows = feed.size();
    leaf.column = feed.size();
    leaf.columns = feed.size();
    leaf.kind = static_cast<matapprox::LeafKind>(feed.number<std::uint8_t>() % 3);
    leaf.count = feed.size();
    content.leaves.push_back(leaf);
  }
  for (const std::uint8_t layer : feed.array<std::uint8_t>()) content.layers.push_back(layer);
  content.bits = feed.array<std::uint8_t>();
  content.scales = feed.array<std::uint16_t>();
  content.data = feed.array<std::uint8_t>();
  multiply(matapprox::BlockMatrix(std::move(content)));
}

void read_sparse(Feed& feed) {
  matapprox::PackedSparse::Content content;
  content.rows = feed.size();
  content.cols = feed.size();
  content.entries = feed.size();
  content.symmetric = feed.number<std::uint8_t>() % 2 == 1;
  content.kind = static_cast<matapprox::SparseValues>(feed.number<std::uint8_t>() % 3);
  content.bits = feed.number<std::uint8_t>();
  content.unit = feed.number<float>();
  content.offset = feed.number<float>();
  content.dictionary = feed.array<double>();
  content.structure = feed.array<std::uint8_t>();
  content.data = feed.array<std::uint8_t>();
  const matapprox::PackedSparse A(std::move(content));
  multiply(A);
  if (A.rows() < 1000) matapprox::fuzz::demand(A.unpacked().nonZeros() <= A.nonzeros());
}

void read_chain(Feed& feed) {
  matapprox::ChordPattern pattern;
  pattern.order = feed.size();
  const auto factors = feed.number<std::uint8_t>() % 4;
  for (int m = 0; m < factors; ++m) {
    std::vector<Index> offsets;
    for (const std::uint8_t offset : feed.array<std::uint8_t>()) offsets.push_back(offset);
    pattern.offsets.push_back(std::move(offsets));
  }
  multiply(
      matapprox::PackedChord(std::move(pattern), matapprox::PackedMatrix(packed_content(feed))));
}

void read_permutation(Feed& feed) {
  std::vector<Index> sources;
  for (const std::uint8_t source : feed.array<std::uint8_t>()) sources.push_back(source);
  multiply(matapprox::Permutation(std::move(sources)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return matapprox::fuzz::run(data, size, [](std::string_view bytes) {
    Feed feed(bytes);
    switch (feed.number<std::uint8_t>() % 5) {
      case 0:
        return multiply(matapprox::PackedMatrix(packed_content(feed)));
      case 1:
        return read_blocks(feed);
      case 2:
        return read_sparse(feed);
      case 3:
        return read_chain(feed);
      default:
        return read_permutation(feed);
    }
  });
}
