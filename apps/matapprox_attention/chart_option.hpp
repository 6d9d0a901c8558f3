#pragma once

#include <functional>
#include <string>

#include "command_line/command_line.hpp"
#include "command_line/file_plan.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// An option that names the file of one chart.
class ChartOption {
 public:
  /// `flag` is, for example, "--chart"; messages name it.
  void add(const Command& command, const char* flag, const char* help);
  bool is_given() const { return !path_.empty(); }
  /// Throws InvalidArgument for a file that is neither SVG nor PNG, NotAvailable without gnuplot,
  /// and the errors of `files`. Must be called before anything is computed.
  void check(FilePlan& files) const;
  /// Writes the chart that draw() returns, if requested, as SVG or PNG according to the file name.
  void write(const std::function<report::Chart()>& draw) const;

 private:
  std::string flag_;
  std::string path_;
};

}  // namespace matapprox::app
