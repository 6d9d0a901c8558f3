#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<StorageBudget> as_budget(const std::string& text) {
  try {
    return parse_budget(text);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

/// True if two spellings stand for the same value: "1e-7" and "1e-07", "1kB" and "1000B".
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (as_number(a) && as_number(a) == as_number(b)) return true;
  const auto left = as_budget(a);
  const auto right = as_budget(b);
  return left && right && left->unit == right->unit && left->amount == right->amount;
}

std::string requested(const OptionText& option, const NamedOptions& given) {
  const auto found = std::find_if(
      given.begin(), given.end(), [&](const auto& o) { return o.first == option.name; });
  return found == given.end() ? option.value : found->second;
}

}  // namespace

bool is_finished(const SavedFit& saved) {
  return saved.record.resume.empty() && !saved.record.interrupted &&
         saved.summary.termination != Termination::kMaxSeconds;
}

SavedFit load_same_fit(const std::string& path,
                       const Method& method,
                       const NamedOptions& options,
                       Precision precision) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw FileError(fmt::format("{}: no such file; there is nothing to resume", path));
  SavedFit saved = read_saved_fit(path);
  const Summary& summary = saved.summary;
  require(summary.method == method.name,
          "{}: is a fit by {}, not {}; cannot resume",
          path,
          summary.method,
          method.name);
  require(
      saved.precision == precision, "{}: was made with another --precision; cannot resume", path);
  for (const OptionText& option : method.options()) {
    const auto stored = std::find_if(summary.options.begin(),
                                     summary.options.end(),
                                     [&](const OptionText& o) { return o.name == option.name; });
    const std::string value = stored == summary.options.end() ? std::string() : stored->value;
    const std::string wanted = requested(option, options);
    require(same_value(value, wanted),
            "{}: was made with {} = '{}', not '{}'; cannot resume",
            path,
            option.name,
            value,
            wanted);
  }
  return saved;
}

SavedFit load_checkpoint(const std::string& path,
                         const Method& method,
                         const NamedOptions& options,
                         Precision precision) {
  SavedFit saved = load_same_fit(path, method, options, precision);
  if (saved.record.resume.empty()) {
    throw FileError(fmt::format(
        "{}: holds {}; there is nothing to resume",
        path,
        is_finished(saved) ? "a finished approximation"
                           : "an approximation without the state needed to resume the fit"));
  }
  return saved;
}

void refuse_other_matrix(const std::string& path,
                         const SavedFit& saved,
                         const LoadedMatrix& input) {
  const Provenance& made_from = saved.record.provenance;
  const LinearOperator& A = *input.matrix;
  const bool same = made_from.rows == A.rows() && made_from.cols == A.cols() &&
                    same_fingerprint(made_from.fingerprint, fingerprint(A));
  require(same, "{}: was made from another matrix ({}); cannot resume", path, made_from.path);
}

}  // namespace matapprox
