#include "chart_option.hpp"

#include "command_line/drawing.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::app {

void ChartOption::add(const Command& command, const char* flag, const char* help) {
  flag_ = flag;
  command.add_option(flag, path_, help).type_name("FILE.svg|png");
}

void ChartOption::check(FilePlan& files) const {
  if (!is_given()) return;
  require(path_.ends_with(".svg") || path_.ends_with(".png"),
          "{} {}: the name must end with .svg or .png",
          flag_,
          path_);
  check_gnuplot();
  files.writes(flag_, path_);
}

void ChartOption::write(const std::function<report::Chart()>& draw) const {
  if (!is_given()) return;
  draw_until_stopped([&] {
    const report::ChartFiles files = report::draw_files(draw());
    write_text(path_, path_.ends_with(".svg") ? files.svg : files.png);
  });
}

}  // namespace matapprox::app
