#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line/shared_options.hpp"
#include "matapprox/io/load.hpp"
#include "report/report_page.hpp"

namespace matapprox::app {

/// --report --plots, and --sweep-seconds
class ReportOutput {
 public:
  void add(const Command& command);
  /// Adds --sweep-seconds, for commands whose report has fits at other storage.
  void add_sweep(const Command& command);
  bool is_wanted() const { return !page_.empty() || !plots_.empty(); }
  double sweep_seconds() const { return sweep_seconds_; }
  /// Must be called before any long work: throws InvalidArgument, FileError for files that cannot
  /// be written, and NotAvailable if the charts cannot be drawn. Makes the folder of --plots, for
  /// files of these names.
  void check(FilePlan& files, const std::vector<std::string>& plot_names) const;
  ReportOptions options(const Provenance& provenance) const;
  void write(const Report& report) const;

 private:
  std::string page_;
  std::string plots_;
  double sweep_seconds_ = 60;
  std::optional<Option> sweep_option_;
};

}  // namespace matapprox::app
