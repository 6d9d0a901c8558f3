#include "matapprox/core/resume_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

/// Number of values that are moved at a time if the state is stored elsewhere: 2 MB.
constexpr Index kNumbersAtOnce = Index{1} << 18;

template <class Value>
const Value* find(const std::vector<std::pair<std::string, Value>>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.first == name; });
  return found == list.end() ? nullptr : &found->second;
}

[[noreturn]] void throw_missing(const std::string& name) {
  throw FileError(fmt::format("resume state: no entry named '{}'", name));
}

const StateBlock& block_named(const ResumeState& state, const std::string& name) {
  const StateBlock* block = find(state.blocks, name);
  if (block == nullptr) throw_missing(name);
  return *block;
}

/// Calls function(column, first row, count) for all pieces of columns with `rows` rows, in order.
template <class Function>
void for_pieces(Index rows, Index cols, const Function& function) {
  for (Index c = 0; c < cols; ++c) {
    for (Index first = 0; first < rows; first += kNumbersAtOnce)
      function(c, first, std::min(kNumbersAtOnce, rows - first));
  }
}

/// Reads numbers first .. first + count - 1 of all columns. Each call of read_rows stays in one
/// column.
void read_columns(const ConstMultiVectorView& columns, Index first, Index count, double* numbers) {
  while (count > 0) {
    const Index c = first / columns.rows;
    const Index row = first - c * columns.rows;
    const Index own = std::min(count, columns.rows - row);
    columns.space->read_rows(columns.rows, columns.data + c * columns.rows, 1, row, own, numbers);
    first += own;
    count -= own;
    numbers += own;
  }
}

}  // namespace

bool ResumeState::has_array(const std::string& name) const {
  return find(arrays, name) != nullptr || find(blocks, name) != nullptr;
}

Vector ResumeState::array(const std::string& name) const {
  if (const Vector* numbers = find(arrays, name)) return *numbers;
  const StateBlock& block = block_named(*this, name);
  require_memory(8.0 * static_cast<double>(block.size), "resume state: '" + name + "'");
  Vector numbers(block.size);
  for_pieces(block.size, 1, [&](Index, Index first, Index count) {
    block.read(first, count, numbers.data() + first);
  });
  return numbers;
}

Index ResumeState::array_size(const std::string& name) const {
  if (const Vector* numbers = find(arrays, name)) return numbers->size();
  return block_named(*this, name).size;
}

Index ResumeState::counter(const std::string& name) const {
  const Index* value = find(counters, name);
  if (value == nullptr) throw_missing(name);
  return *value;
}

void ResumeState::add_matrix(const std::string& name, const Matrix& values) {
  arrays.emplace_back(name, values.reshaped());
  counters.emplace_back(name + "_rows", values.rows());
  counters.emplace_back(name + "_cols", values.cols());
}

Matrix ResumeState::matrix(const std::string& name) const {
  const Vector values = array(name);
  const Index rows = counter(name + "_rows");
  const Index cols = counter(name + "_cols");
  const bool fit =
      rows >= 0 && cols >= 0 &&
      (values.size() == 0 ? rows == 0 || cols == 0
                          : cols > 0 && values.size() % cols == 0 && values.size() / cols == rows);
  require(fit, "resume state: '{}' has {} numbers, not {} x {}", name, values.size(), rows, cols);
  return values.reshaped(rows, cols);
}

void ResumeState::add_columns(const std::string& name, const ConstMultiVectorView& columns) {
  const Index size = columns.rows * columns.cols;
  if (size == 0 || !columns.space->is_distributed()) {
    Vector numbers(size);
    if (size > 0) columns.space->read(columns.data, size, numbers.data());
    arrays.emplace_back(name, std::move(numbers));
    return;
  }
  blocks.emplace_back(
      name, StateBlock{size, columns, [columns](Index first, Index count, double* numbers) {
                         read_columns(columns, first, count, numbers);
                       }});
}

void ResumeState::copy_array(const std::string& name, const MultiVectorView& to) const {
  const Index size = array_size(name);
  require(size == to.rows * to.cols,
          "resume state: '{}' has {} numbers, not {} x {}",
          name,
          size,
          to.rows,
          to.cols);
  if (size == 0) return;
  if (const Vector* numbers = find(arrays, name)) {
    to.space->write(numbers->data(), size, to.data);
    return;
  }
  const StateBlock& block = block_named(*this, name);
  std::vector<double> piece(static_cast<std::size_t>(std::min(kNumbersAtOnce, to.rows)));
  for_pieces(to.rows, to.cols, [&](Index c, Index first, Index count) {
    block.read(c * to.rows + first, count, piece.data());
    to.space->write_rows(to.rows, to.data + c * to.rows, 1, first, count, piece.data());
  });
}

ResumeState ResumeState::with_own_numbers() const {
  ResumeState own{arrays, counters, {}};
  for (const auto& [name, block] : blocks) own.arrays.emplace_back(name, array(name));
  return own;
}

}  // namespace matapprox
