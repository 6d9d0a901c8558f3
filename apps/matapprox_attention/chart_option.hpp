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
  /// `flag` as "--chart"; it is named in messages.
  void add(const Command& command, const char* flag, const char* help);
  bool is_given() const { return !path_.empty(); }
  /// Throws InvalidArgument for a file that is neither SVG nor PNG, NotAvailable where there is no
  /// gnuplot, and what `files` says of the file; before anything is computed.
  void check(FilePlan& files) const;
  /// The chart that draw() makes, as an SVG or PNG by the name of the file, if it was asked for.
  void write(const std::function<report::Chart()>& draw) const;

 private:
  std::string flag_;
  std::string path_;
};

}  // namespace matapprox::app
