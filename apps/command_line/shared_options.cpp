#include "command_line/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "command_line/interrupt.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::app {

std::string flag_of(const std::string& option_name) {
  std::string flag = "--" + option_name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::size_t position_of_name(const std::string& flag,
                             const std::string& text,
                             std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), text);
  require(found != names.end(), "{} '{}' is not one of {}", flag, text, fmt::join(names, ", "));
  return static_cast<std::size_t>(found - names.begin());
}

void note(bool quiet, const std::string& text) {
  if (!quiet) write_stderr(visible_text(text) + "\n");
}

void NamedFlags::add(const Command& command,
                     const std::string& flag,
                     const std::string& name,
                     const OptionText& option,
                     const std::string& help,
                     const std::string& group) {
  const Command heading = command.under(group);
  Flag& made = flags_.emplace_back();
  made.name = name;
  const bool is_bool = option.choices == std::vector<std::string>{"true", "false"};
  std::string text = help;
  if (!is_bool && !option.choices.empty())
    text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (!is_bool && !option.value.empty()) text += fmt::format(" [{}]", option.value);
  if (is_bool && option.value == "true") text += fmt::format(" [true; {}=false]", flag);
  made.option = is_bool ? heading.add_flag(flag, made.value, text)
                        : heading.add_option(flag, made.value, text);
}

void NamedFlags::add(const Command& command,
                     const std::vector<OptionText>& options,
                     const std::string& group) {
  for (const OptionText& option : options)
    add(command, flag_of(option.name), option.name, option, option.help, group);
}

std::vector<std::pair<std::string, std::string>> NamedFlags::given() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Flag& flag : flags_) {
    if (flag.option->count() > 0) result.emplace_back(flag.name, flag.value);
  }
  return result;
}

Option InputOptions::add(const Command& command, const std::string& help) {
  const Option file = command.add_option("matrix FILE", path_, help).required();
  std::vector<OptionText> options = list_options(LoadOptions{});
  for (OptionText& option : options) {
    if (option.name != "bandwidth") continue;
    option.value = "the median rule";
    option.help = "as kernel: bandwidth h of the function, positive";
  }
  flags_.add(command, options, "Input");
  return file;
}

LoadedMatrix InputOptions::load(bool quiet) const {
  LoadOptions options;
  for (const auto& [name, value] : flags_.given()) {
    OptionSetter setter(name, value);
    options.visit(setter);
    // Inside the library 0 selects the median rule; a 0 on the command line is a mistake.
    require(name != "bandwidth" || options.bandwidth > 0,
            "--bandwidth {} is not positive; omit it to use the median rule",
            value);
  }
  // An option given at its default value is checked too: it also has no effect.
  for (const auto& [name, value] : flags_.given()) check_effect(path_, options, name);
  LoadedMatrix loaded;
  {
    ProgressLine line(quiet);
    line.start("reading " + path_);
    const InterruptScope at_once(false);  // nothing is lost yet, and readers do not poll
    loaded = matapprox::load(path_, options);
  }
  for (const std::string& text : loaded.notes) note(quiet, fmt::format("{}: {}", path_, text));
  return loaded;
}

void CommonOptions::add(const Command& command, bool with_seed) {
  if (with_seed) command.add_option("--seed", seed_, "Seed of all random choices [1]");
  command.add_option("--threads", threads_, "Number of threads; results do not depend on it [all]")
      .range(1, 4096);
  command.add_flag("--quiet", quiet_, "Print only errors to stderr");
}

void CommonOptions::apply() const {
  kernels::require_blas_buffer();
  if (!threads_) return;
  set_threads(*threads_);
}

void DeviceOptions::add(const Command& command) {
  add(command, "Device that computes the products: cpu, cuda, auto [cpu]");
}

void DeviceOptions::add_cpu_only(const Command& command) {
  add(command, "cpu or auto; this command runs only on the CPU and rejects cuda [cpu]");
}

void DeviceOptions::add(const Command& command, const char* help) {
  command.add_option("--device", name_, help);
  command.add_flag("-v,--verbose", verbose_, "Print the device used, and the reason, to stderr");
}

Device DeviceOptions::device() const { return enum_value<Device>("--device", name_); }

void DeviceOptions::check() const {
  if (device() != Device::kCuda) return;
  if (const std::string why = why_no_gpu(); !why.empty())
    throw NotAvailable(fmt::format("--device cuda: {}", why));
}

void DeviceOptions::check_cpu_only(const std::string& what) const {
  check();
  if (device() == Device::kCuda)
    throw NotAvailable(fmt::format("--device cuda: {} runs on the CPU only", what));
  note(!verbose_, fmt::format("device: cpu, {} runs on the CPU only", what));
}

bool DeviceOptions::wants_gpu() const {
  check();
  if (device() == Device::kCuda) return true;
  const std::string why = device() == Device::kCpu ? "as requested" : why_no_gpu();
  if (!why.empty()) note(!verbose_, fmt::format("device: cpu, {}", why));
  return why.empty();
}

std::string DeviceOptions::move_to_gpu(const std::function<void()>& use) const {
  try {
    use();
  } catch (const NotAvailable& error) {
    if (device() == Device::kCuda) throw;
    return error.what();
  }
  return {};
}

void DeviceOptions::offer_gpu(const std::function<void()>& use) const {
  if (!wants_gpu()) return;
  const std::string why = move_to_gpu(use);
  note(!verbose_, why.empty() ? "device: cuda" : fmt::format("device: cpu, {}", why));
}

Placement DeviceOptions::place(std::shared_ptr<const LinearOperator> A, bool quiet) const {
  Placement placement = matapprox::place(std::move(A), device());
  if (placement.estimate) note(!verbose_, to_text(*placement.estimate));
  note(!verbose_, fmt::format("device: {}, {}", enum_name(placement.device), placement.reason));
  note(quiet || verbose_ || placement.note.empty(), placement.note);
  return placement;
}

void JsonOptions::add(const Command& command) {
  command.add_option(
      "--json FILE", path_, "Also write JSON to this file; - prints it instead of the text");
  command.add_flag("--force", force_, "Overwrite output files that exist");
}

FilePlan JsonOptions::files() const {
  FilePlan plan(force_);
  plan.writes("--json", path_);
  return plan;
}

void JsonOptions::write(report::Json json) const {
  // The document of an interrupted fit already has the mark.
  json["interrupted"] = json.value("interrupted", false) || interrupt_requested();
  write(report::to_text(json));
}

void JsonOptions::write(const std::string& text) const {
  if (!path_.empty()) write_text(path_, text);
}

void JsonOptions::show(report::Json json, const std::string& text) const {
  write(std::move(json));
  if (!replaces_text()) write_stdout(text);
}

void SizeOptions::add(const Command& command) {
  const Command storage = command.under("Storage");
  storage.add_option("--rank", rank_, "Rank of every method that has one").range(1);
  storage.add_option(
      "--budget",
      budget_,
      "Storage limit: stored numbers (18432), share of the matrix (10%) or bytes (4MB, 4MiB); "
      "default: what the Chord reference pattern stores");
  storage.add_option(
      "--target-error", target_error_, "Use the smallest storage that reaches this relative error");
  storage.add_option("--precision",
                     precision_,
                     "Precision of the stored values: double, float, float16, bfloat16, or packed "
                     "(bits per value chosen from the data) [double]");
  storage.add_option("--max-seconds",
                     max_seconds_,
                     "Time limit of a method in seconds; its best result so far is kept");
}

void SizeOptions::check() const {
  require(!target_error_ || (*target_error_ > 0 && *target_error_ < 1),
          "--target-error {} is outside 0..1",
          target_error_.value_or(0));
  require(max_seconds_ > 0, "--max-seconds {} is not positive", max_seconds_);
  const int given = rank_.has_value() + !budget_.empty() + target_error_.has_value();
  require(given <= 1, "give one of --rank, --budget and --target-error");
  precision();
  budget();
}

StorageBudget SizeOptions::budget() const {
  if (budget_.empty()) return {};
  StorageBudget budget = parse_budget(budget_);
  budget.precision = precision();
  return budget;
}

Precision SizeOptions::precision() const {
  return enum_value<Precision>("--precision", precision_);
}

void MeasuringOptions::add(const Command& command, bool can_be_none) {
  command.add_option(
      "--measure",
      effort_,
      fmt::format("Effort of measuring the error: {}quick (about as long as the fit), full [{}]",
                  can_be_none ? "none, " : "",
                  effort_));
  command.add_flag(
      "--exact-error",
      exact_,
      "Always compute the exact error, whatever its cost; do not estimate it for large matrices");
}

void MeasuringOptions::add_certificate(const Command& command) {
  command.add_flag(
      "--certify",
      certify_,
      "Also certify upper bounds of the error, whatever the value of --measure: 40 products with "
      "the matrix and the approximation in 5 passes; none if the Frobenius error is exact");
  command.add_option("--confidence",
                     confidence_,
                     fmt::format("Probability that a certified bound holds, between 0 and 1 [{}]",
                                 CertificateOptions{}.confidence));
  norm_option_ = command.add_option(
      "--norm",
      norm_,
      "Norm to certify: frobenius (also bounds the spectral norm), spectral [frobenius]");
}

CertificateOptions MeasuringOptions::certificate(std::uint64_t seed) const {
  CertificateOptions result;
  result.seed = seed;
  if (confidence_) {
    require(*confidence_ > 0 && *confidence_ < 1,
            "--confidence {} is outside 0..1, both excluded",
            *confidence_);
    result.confidence = *confidence_;
  }
  result.norm = enum_value<CertifiedNorm>("--norm", norm_);
  return result;
}

MeasureOptions MeasuringOptions::options(std::uint64_t seed) const {
  MeasureOptions result;
  result.effort = enum_value<MeasureEffort>("--measure", effort_);
  require(!exact_ || result.effort != MeasureEffort::kNone,
          "--exact-error and --measure none exclude each other");
  require(!certify_ || result.effort != MeasureEffort::kNone,
          "--certify and --measure none exclude each other");
  const CertificateOptions certified = certificate(seed);
  const bool norm_given = norm_option_ && norm_option_->count() > 0;
  require(certify_ || !(confidence_ || norm_given),
          "{} has no effect without --certify",
          confidence_ ? "--confidence" : "--norm");
  if (certify_) result.certificate = certified;
  result.always_exact = exact_;
  result.seed = seed;
  return result;
}

void BasicOptions::add_basic(const Command& command, bool with_seed, bool cpu_only) {
  common.add(command, with_seed);
  cpu_only ? device.add_cpu_only(command) : device.add(command);
  json.add(command);
}

void InfoOptions::add(const Command& command) {
  input.add(command, "A matrix in any format, a saved approximation or model");
  measuring.add(command);
  add_basic(command, true);
}

void InfoOptions::check() const {
  common.apply();
  device.check();
  json.files().reads(input.path());
}

}  // namespace matapprox::app
