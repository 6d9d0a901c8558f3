#include <algorithm>
#include <array>
#include <numeric>

#include "attention/tasks/fitted_baselines.hpp"
#include "attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::tasks {

std::int32_t listops_apply(std::int32_t op, std::span<std::int32_t> digits) {
  std::sort(digits.begin(), digits.end());
  if (op == kListopsMin) return digits.front();
  if (op == kListopsMax) return digits.back();
  if (op == kListopsSum) return std::accumulate(digits.begin(), digits.end(), 0) % kListopsDigits;
  const std::size_t n = digits.size();
  return (digits[(n - 1) / 2] + digits[n / 2]) / 2;
}

std::int32_t listops_value(std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> digits;  // digits of the open lists, one list after the other
  struct OpenList {
    std::int32_t op;
    std::size_t begin;  // index of its first digit
  };
  std::vector<OpenList> open;
  for (const std::int32_t token : tokens) {
    if (token < kListopsDigits) {
      digits.push_back(token);
    } else if (token != kListopsClose) {
      open.push_back({token, digits.size()});
      continue;
    } else {
      const OpenList list = open.back();
      open.pop_back();
      const std::int32_t value = listops_apply(list.op, std::span(digits).subspan(list.begin));
      digits.resize(list.begin);
      digits.push_back(value);
    }
    if (open.empty()) break;
  }
  return digits.front();
}

std::vector<std::int32_t> listops_root_digits(std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> digits;
  Index depth = 0;
  for (const std::int32_t token : tokens) {
    if (token < kListopsDigits) {
      if (depth == 1) digits.push_back(token);
    } else {
      depth += token == kListopsClose ? -1 : 1;
    }
    if (depth == 0) break;
  }
  return digits;
}

bool ListopsTrees::draw(SampleDraws& draws, std::vector<std::int32_t>& tokens) const {
  tokens.clear();
  std::array<std::int32_t, kListopsDeepest> missing{};  // missing children of each open list
  std::size_t open = 0;
  Index due = 1;  // nodes and brackets still to be written
  for (;;) {
    // Two bits decide between digit and operator, the other 30 which one: the probability of each
    // digit is within 1e-9 of 1/10.
    const std::uint32_t word = draws.word();
    const bool digit = static_cast<Index>(open) + 1 >= max_depth || (word & 3U) != 0;
    if (!digit) {
      const std::uint32_t rest = word >> 2U;
      tokens.push_back(kListopsMin + static_cast<std::int32_t>(rest & 3U));
      const std::int32_t children = 2 + draws.symbol(max_children - 1);
      missing[open++] = children;
      due += children;  // its bracket takes the place of the node itself
      if (static_cast<Index>(tokens.size()) + due > max_tokens) return false;
      continue;
    }
    tokens.push_back(
        static_cast<std::int32_t>((std::uint64_t{word >> 2U} * kListopsDigits) >> 30U));
    --due;
    while (open > 0 && --missing[open - 1] == 0) {
      tokens.push_back(kListopsClose);
      --due;
      --open;
    }
    if (open == 0) return static_cast<Index>(tokens.size()) <= max_tokens;
  }
}

namespace {

constexpr Index kListopsAttempts = Index{1} << 20;
constexpr Index kListopsLongest = 65536;
constexpr Index kListopsMaxChildren = 64;

void require_listops(std::string_view option, Index value, Index least, Index most) {
  require_within("listops", option, value, least, most);
}

/// Cells of the root: a digit, or an operator with a value 0..9, or with none.
constexpr Index kRootValues = kListopsDigits + 1;
constexpr Index kRootCells = kListopsDigits + kListopsOperators * kRootValues;

Index root_token(const Sample& sample) { return sample.tokens.front(); }

/// Cell of the root operator and its value on the children that are digits, ignoring the others.
Index root_and_digits(const Sample& sample) {
  const std::int32_t root = sample.tokens.front();
  if (root < kListopsDigits) return root;
  auto digits = listops_root_digits(sample.tokens);
  const Index value = digits.empty() ? kListopsDigits : listops_apply(root, digits);
  return kListopsDigits + (root - kListopsMin) * kRootValues + value;
}

class Listops final : public DrawnTask {
 public:
  Listops(const ListopsOptions& options, std::uint64_t seed)
      : DrawnTask(seed), min_length_(options.min_length) {
    require_listops("length", options.length, 8, kListopsLongest);
    require_listops("max_length", options.max_length, 0, options.length);
    const Index end = options.max_length == 0 ? options.length : options.max_length;
    require_listops("min_length", options.min_length, 0, std::max<Index>(end - 2, 0));
    require_listops("max_depth", options.max_depth, 2, kListopsDeepest);
    require_listops("max_children", options.max_children, 2, kListopsMaxChildren);
    trees_ = {end - 1, options.max_depth, static_cast<std::int32_t>(options.max_children)};
    shape_.length = options.length;
    shape_.vocabulary = kListopsPadding + 1;
    shape_.answer = Answer::kClass;
    shape_.classes = kListopsDigits;
  }

  void make(Split split, Index i, Sample& sample) const override {
    clear(sample);
    draw_tree(split, i, sample.tokens);
    sample.label = listops_value(sample.tokens);
    const auto length = static_cast<std::size_t>(shape_.length);
    sample.mask.assign(length, 0);
    std::fill_n(sample.mask.begin(), sample.tokens.size(), std::uint8_t{1});
    sample.tokens.resize(length, kListopsPadding);
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    const std::array readers{
        CellReader{"majority class", 1, [](const Sample& /*sample*/) { return Index{0}; }},
        CellReader{"first token", kListopsPadding, root_token},
        CellReader{"root without its subtrees", kRootCells, root_and_digits}};
    return fitted_baselines(*this, split, samples, readers);
  }

 private:
  void draw_tree(Split split, Index i, std::vector<std::int32_t>& tokens) const {
    for (Index attempt = 0; attempt < kListopsAttempts; ++attempt) {
      SampleDraws draws(seed_, split, i, attempt);
      if (trees_.draw(draws, tokens) && static_cast<Index>(tokens.size()) > min_length_) return;
    }
    throw InvalidArgument(
        fmt::format("listops: none of {} trees has {}..{} tokens; allow more lengths, depth or "
                    "children",
                    kListopsAttempts,
                    min_length_ + 1,
                    trees_.max_tokens));
  }

  Index min_length_;
  ListopsTrees trees_;
};

}  // namespace

void ListopsOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N to which samples are padded, in tokens");
  v.visit("min_length", min_length, "a tree has more tokens than this");
  v.visit("max_length", max_length, "a tree has fewer tokens than this; 0: N");
  v.visit("max_depth", max_depth, "maximum depth of a tree; the root has depth 1, digits count");
  v.visit("max_children", max_children, "maximum number of children of an operator, at least 2");
}

std::unique_ptr<Task> listops_task(const ListopsOptions& options, std::uint64_t seed) {
  return std::make_unique<Listops>(options, seed);
}

}  // namespace matapprox::tasks
