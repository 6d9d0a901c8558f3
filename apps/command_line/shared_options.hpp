#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/file_plan.hpp"
#include "matapprox/core/budget.hpp"
#include "matapprox/device/placement.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/measure/measure.hpp"
#include "report/json.hpp"

// Groups of options that several subcommands share. Each has `add`, to be called once before
// parsing, and the functions that the subcommand needs afterwards. They must not move after `add`.
namespace matapprox::app {

/// Prints to stderr, unless quiet.
void note(bool quiet, const std::string& text);

/// Command line flags for the options of a visited struct of the library: max_iterations becomes
/// --max-iterations. Values stay text; the struct's own visitor parses them.
class NamedFlags {
 public:
  void add(const Command& command,
           const std::string& flag,
           const std::string& name,
           const OptionText& option,
           const std::string& help,
           const std::string& group);
  /// Adds a flag for each option, with its own name and help.
  void add(const Command& command,
           const std::vector<OptionText>& options,
           const std::string& group);
  /// (name, value) of all flags that were given.
  std::vector<std::pair<std::string, std::string>> given() const;

 private:
  struct Flag {
    std::string name;
    std::string value;
    std::optional<Option> option;
  };
  std::list<Flag> flags_;
};

/// Position in `names` of the text that was given to an option. Throws InvalidArgument, with all
/// names, if it is not among them.
std::size_t position_of_name(const std::string& flag,
                             const std::string& text,
                             std::span<const std::string_view> names);

/// The enumerator that the text given to an option names. Throws InvalidArgument likewise.
template <class Enum>
Enum enum_value(const std::string& flag, const std::string& text) {
  return static_cast<Enum>(position_of_name(flag, text, EnumNames<Enum>::values));
}

/// "max_iterations" -> "--max-iterations"
std::string flag_of(const std::string& option_name);

/// FILE and the options on how to read it.
class InputOptions {
 public:
  /// Returns the option FILE.
  Option add(const Command& command, const std::string& help);
  const std::string& path() const { return path_; }
  /// True if any option on how to read it was given.
  bool changed() const { return !flags_.given().empty(); }
  /// Loads the matrix; the decisions of the reader go to stderr unless quiet.
  LoadedMatrix load(bool quiet) const;

 private:
  std::string path_;
  NamedFlags flags_;
};

/// --seed --threads --quiet
class CommonOptions {
 public:
  void add(const Command& command, bool with_seed);
  /// Sets the number of threads. Throws NotAvailable where the BLAS could not run.
  void apply() const;
  std::uint64_t seed() const { return seed_; }
  bool quiet() const { return quiet_; }

 private:
  std::uint64_t seed_ = 1;
  std::optional<int> threads_;
  bool quiet_ = false;
};

/// --device --verbose: the device on which products are computed.
class DeviceOptions {
 public:
  void add(const Command& command);
  /// Adds the same flags to a command that calls check_cpu_only(), which refuses cuda.
  void add_cpu_only(const Command& command);
  /// Throws InvalidArgument for a name other than cpu, cuda and auto, and NotAvailable for cuda
  /// without a GPU: before anything is read or computed.
  void check() const;
  /// The same for `what`, which runs on the CPU only: throws NotAvailable for cuda in any case.
  void check_cpu_only(const std::string& what) const;
  /// True if a GPU is to be used: for cuda and, if there is one, for auto. If not, the reason goes
  /// to stderr if verbose. Throws as check() does.
  bool wants_gpu() const;
  /// Calls use(), which moves work to the GPU, after wants_gpu() returned true; for auto a
  /// NotAvailable leaves the work on the CPU. Returns the reason why it stays there, empty if it
  /// moved.
  std::string move_to_gpu(const std::function<void()>& use) const;
  /// Does the same if wants_gpu(); the choice and its reason go to stderr if verbose.
  void offer_gpu(const std::function<void()>& use) const;
  /// Returns the matrix on the chosen device. The choice and its reason go to stderr if verbose; a
  /// note that factors are streamed to the GPU goes there unless quiet.
  Placement place(std::shared_ptr<const LinearOperator> A, bool quiet) const;

 private:
  void add(const Command& command, const char* help);
  Device device() const;

  std::string name_ = "cpu";
  bool verbose_ = false;
};

/// --json --force
class JsonOptions {
 public:
  void add(const Command& command);
  /// A new FilePlan with the file of --json, checked; the command adds its other files.
  FilePlan files() const;
  bool force() const { return force_; }
  bool replaces_text() const { return path_ == "-"; }
  /// Does nothing without --json. The document, an object, gets `interrupted`: true if a signal has
  /// asked the program to stop.
  void write(report::Json json) const;
  void write(const std::string& text) const;  ///< the same for JSON in text form
  /// Writes the document, and prints the text unless the document takes its place.
  void show(report::Json json, const std::string& text) const;

 private:
  std::string path_;
  bool force_ = false;
};

/// --rank --budget --target-error --precision --max-seconds: options on how much to store.
class SizeOptions {
 public:
  void add(const Command& command);
  /// Throws InvalidArgument for a value outside its range or more than one of the first three; the
  /// largest rank is checked against the matrix by the method.
  void check() const;
  Index rank() const { return rank_.value_or(0); }
  StorageBudget budget() const;  ///< unset if not given
  double target_error() const { return target_error_.value_or(0); }
  Precision precision() const;
  double max_seconds() const { return max_seconds_; }

 private:
  std::optional<Index> rank_;
  std::string budget_;
  std::optional<double> target_error_;
  std::string precision_ = "double";
  double max_seconds_ = std::numeric_limits<double>::infinity();
};

/// --measure --exact-error, and --certify --confidence --norm
class MeasuringOptions {
 public:
  /// `default_effort` applies unless the command line sets another.
  explicit MeasuringOptions(MeasureEffort default_effort = MeasureEffort::kQuick)
      : effort_(enum_name(default_effort)) {}
  /// `can_be_none`: the help of --measure lists `none`, which only `approximate` supports.
  void add(const Command& command, bool can_be_none = false);
  /// Adds the options of certificates, for commands that measure an approximation.
  void add_certificate(const Command& command);
  /// Throws InvalidArgument for an effort other than none, quick and full, for none together with
  /// --exact-error or --certify, and for --confidence or --norm out of range or without --certify.
  MeasureOptions options(std::uint64_t seed) const;

 private:
  CertificateOptions certificate(std::uint64_t seed) const;

  std::string effort_;
  bool exact_ = false;
  bool certify_ = false;
  std::optional<double> confidence_;
  std::string norm_{enum_name(CertifiedNorm::kFrobenius)};
  std::optional<Option> norm_option_;
};

/// The options that most commands have; a command derives from them.
struct BasicOptions {
  /// Adds them without --seed if nothing is random; `cpu_only`: see DeviceOptions::add_cpu_only.
  void add_basic(const Command& command, bool with_seed, bool cpu_only = false);
  /// Prints the formatted text to stderr, unless --quiet is given.
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) const {
    app::note(common.quiet(), fmt::format(format, std::forward<Args>(args)...));
  }

  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

/// FILE and the options of `info`. Both programs have them: matapprox starts the program that reads
/// models of attention with the same arguments.
struct InfoOptions : BasicOptions {
  void add(const Command& command);
  /// Sets the number of threads. Throws errors that would otherwise show only after the work:
  /// InvalidArgument, FileError, NotAvailable.
  void check() const;

  InputOptions input;
  MeasuringOptions measuring;
};

}  // namespace matapprox::app
