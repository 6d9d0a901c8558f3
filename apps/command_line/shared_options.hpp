#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/file_plan.hpp"
#include "matapprox/core/budget.hpp"
#include "matapprox/device/placement.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/measure/measure.hpp"
#include "report/json.hpp"

// Groups of options that several subcommands share. Each has `add`, to be called once before
// parsing, and what the subcommand needs afterwards. They must not move after `add`.
namespace matapprox::app {

/// Options that a visited struct of the library has, as command line flags: max_iterations becomes
/// --max-iterations. Values stay text; the struct's own visitor reads them.
class NamedFlags {
 public:
  void add(const Command& command,
           const std::string& flag,
           const std::string& name,
           const OptionText& option,
           const std::string& help,
           const std::string& group);
  /// (name, value) of all that were given.
  std::vector<std::pair<std::string, std::string>> given() const;

 private:
  struct Flag {
    std::string name;
    std::string value;
    std::optional<Option> option;
  };
  std::list<Flag> flags_;
};

/// "max_iterations" -> "--max-iterations"
std::string flag_of(const std::string& option_name);

/// FILE and how to read it.
class InputOptions {
 public:
  /// Gives back the option FILE.
  Option add(const Command& command, const std::string& help);
  const std::string& path() const { return path_; }
  /// True if any option on how to read it was given.
  bool changed() const { return !flags_.given().empty(); }
  /// Loads the matrix; what the reader decided goes to stderr unless quiet.
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

/// --device --verbose: where products are computed.
class DeviceOptions {
 public:
  void add(const Command& command);
  /// The same flags of a command that ends with check_cpu_only() where cuda is asked for.
  void add_cpu_only(const Command& command);
  /// Throws InvalidArgument for another name than cpu, cuda and auto, and NotAvailable for cuda
  /// where there is no GPU: before anything is read or computed.
  void check() const;
  /// The same for what knows the CPU alone, such as `what`: NotAvailable for cuda in any case.
  void check_cpu_only(const std::string& what) const;
  /// Whether a GPU is to be used where it can: for cuda and, if there is one, for auto; why not
  /// goes to stderr if verbose. Throws as check() does.
  bool wants_gpu() const;
  /// Calls use(), which moves work to the GPU that wants_gpu(); for auto a NotAvailable leaves the
  /// work on the CPU. Returns why it stays there, empty if it moved.
  std::string move_to_gpu(const std::function<void()>& use) const;
  /// The same if wants_gpu(); what was chosen, and why, goes to stderr if verbose.
  void offer_gpu(const std::function<void()>& use) const;
  /// The matrix on the device that it then names; what was chosen, and why, goes to stderr if
  /// verbose; that factors are streamed to the GPU also if not, unless quiet.
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
  /// The beginning of what a command reads and writes: the file of --json, checked.
  FilePlan files() const;
  bool force() const { return force_; }
  bool replaces_text() const { return path_ == "-"; }
  /// Nothing without --json. The document, an object, gets `interrupted`: whether a signal has
  /// asked the program to stop.
  void write(report::Json json) const;
  void write(const std::string& text) const;  ///< the same for JSON that is text already

 private:
  std::string path_;
  bool force_ = false;
};

/// --rank --budget --target-error --precision --max-seconds: how much to store.
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
  /// `default_effort` stands where the command line says nothing.
  explicit MeasuringOptions(MeasureEffort default_effort = MeasureEffort::kQuick)
      : effort_(enum_name(default_effort)) {}
  /// `can_be_none`: the help of --measure names `none`, which only `approximate` has a use for.
  void add(const Command& command, bool can_be_none = false);
  /// For commands that measure an approximation.
  void add_certificate(const Command& command);
  /// Throws InvalidArgument for another effort than none, quick and full, for none together with
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

/// FILE and the options of `info`. Both programs have them: the one that knows models of attention
/// is started with the same arguments.
struct InfoOptions {
  void add(const Command& command);
  /// Sets the number of threads. Throws for what would only show after the work: InvalidArgument,
  /// FileError, NotAvailable.
  void check() const;

  InputOptions input;
  CommonOptions common;
  DeviceOptions device;
  MeasuringOptions measuring;
  JsonOptions json;
};

/// Prints to stderr, unless quiet.
void note(bool quiet, const std::string& text);

}  // namespace matapprox::app
