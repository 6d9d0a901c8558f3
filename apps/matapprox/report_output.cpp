#include "report_output.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

std::string plot_path(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

constexpr const char* kReportGroup = "Report";

bool is_image_file(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  const std::array<const char*, 4> known{".png", ".jpg", ".jpeg", ".pgm"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

}  // namespace

void ReportOutput::add(const Command& command) {
  command.under(kReportGroup)
      .add_option("--report FILE.html", page_, "Write an HTML report with charts and images");
  command.under(kReportGroup)
      .add_option(
          "--plots DIR",
          plots_,
          "Write the charts and images of the report to this folder, as .svg and .png files");
}

void ReportOutput::add_sweep(const Command& command) {
  sweep_option_ =
      command.under(kReportGroup)
          .add_option(
              "--sweep-seconds",
              sweep_seconds_,
              "Seconds for fits with more and less storage, shown in the report; 0: none [60]");
  sweep_option_->group(kReportGroup).type_name("");
}

void ReportOutput::check(FilePlan& files, const std::vector<std::string>& plot_names) const {
  require(sweep_seconds_ >= 0, "--sweep-seconds {} is negative", sweep_seconds_);
  require(is_wanted() || !sweep_option_ || sweep_option_->count() == 0,
          "--sweep-seconds has no effect without --report or --plots");
  if (!is_wanted()) return;
  require(page_ != "-", "--report: the page is written to a file, not to standard output");
  files.writes("--report", page_);
  check_gnuplot();
  if (plots_.empty()) return;
  files.makes_folder("--plots", plots_);
  for (const std::string& name : plot_names) {
    const std::string path = plot_path(plots_, name);
    files.writes(path, path);
  }
}

ReportOptions ReportOutput::options(const Provenance& provenance) const {
  ReportOptions options;
  options.page = !page_.empty();
  options.plots = !plots_.empty();
  options.is_image = is_image_file(provenance.path);
  options.kind = provenance.kind;
  options.command = invocation();
  options.sweep_seconds = sweep_seconds_;
  return options;
}

void ReportOutput::write(const Report& report) const {
  if (!page_.empty()) write_text(page_, report.html);
  for (const ReportFile& file : report.plots) write_text(plot_path(plots_, file.name), file.bytes);
}

}  // namespace matapprox::app
