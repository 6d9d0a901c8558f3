#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "experiments.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

using attention::ChosenMechanism;
using attention::TimedAttention;

constexpr Index kWidth = 384;
constexpr Index kHeads = 6;
/// Multiplications per token of a feed-forward layer of width 4 d, which FLASH contains.
constexpr Index kFeedForward = 8 * kWidth * kWidth;

/// A row of Table 3, on a V100 with mixed precision.
struct PublishedCrossover {
  const char* title;
  ChosenMechanism mechanism;
  Index memory;
  Index time;
};

const std::vector<PublishedCrossover>& published() {
  static const std::vector<PublishedCrossover> rows{
      {"BigBird, blocks of 16", {"bigbird", {{"block", "16"}}}, 704, 848},
      {"Linformer, k = 256", {"linformer", {{"rank", "256"}}}, 448, 368},
      {"FLASH, g = 256",
       {"flash", {{"value_width", "1536"}, {"query_width", "64"}, {"activation", "laplace"}}},
       432,
       400},
      {"Singularformer, r = 64", {"singularformer", {}}, 192, 144}};
  return rows;
}

/// Length from which on `own` is below `other`, interpolated linearly between two tried lengths:
/// the first length if it is below everywhere, nullopt if it is not below at the last one.
std::optional<double> below_from(const std::vector<Index>& lengths,
                                 const std::vector<double>& own,
                                 const std::vector<double>& other) {
  std::size_t last = own.size();  // last index at which it is not below
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] >= other[k]) last = k;
  }
  if (last == own.size()) return static_cast<double>(lengths.front());
  if (last + 1 == own.size()) return std::nullopt;
  const double gap = own[last] - other[last];
  const double share = gap / (gap + other[last + 1] - own[last + 1]);
  const auto from = static_cast<double>(lengths[last]);
  return from + share * (static_cast<double>(lengths[last + 1]) - from);
}

template <class Value>
std::vector<double> column(const std::vector<TimedAttention>& rows,
                           const std::string& mechanism,
                           const Value& value) {
  std::vector<double> values;
  for (const TimedAttention& row : rows) {
    if (row.mechanism == mechanism) values.push_back(static_cast<double>(value(row)));
  }
  return values;
}

Index multiplications_of(const TimedAttention& row) { return row.cost.multiplications; }
Index bytes_of(const TimedAttention& row) { return row.bytes; }

/// Crossovers of a mechanism; nullopt: at no tried length, or not in that table.
struct Found {
  std::optional<double> table_time;  ///< from the multiplications of [WKZL23, Table 1]
  std::optional<double> counted;     ///< from the multiplications of the layers here
  std::optional<double> measured;
  std::optional<double> table_memory;
  std::optional<double> held;
};

std::optional<double> number(const std::optional<Index>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

Found found_of(const PublishedCrossover& row,
               const std::vector<Index>& lengths,
               const std::vector<TimedAttention>& timed,
               const TableOne& table) {
  const std::string label = row.mechanism.label();
  const bool flash = row.mechanism.name == "flash";
  Found found;
  const std::vector<double> own = column(timed, label, multiplications_of);
  std::vector<double> other = column(timed, "softmax", multiplications_of);
  for (std::size_t k = 0; flash && k < other.size(); ++k)
    other[k] += static_cast<double>(kFeedForward * lengths[k]);
  found.counted = below_from(lengths, own, other);
  if (const TableOne::Row* const of_table = table.row_of(row.mechanism.name)) {
    found.table_time = number(of_table->theory_from.multiplications);
    found.table_memory = number(of_table->theory_from.stored);
    if (const auto exact = of_table->counted_from.multiplications)
      found.counted = static_cast<double>(*exact);
  }
  const double from = attention::measured_crossover(timed, label, "softmax");
  if (!flash && always_faster(timed, label)) {
    found.measured = static_cast<double>(lengths.front());
  } else if (!flash && std::isfinite(from)) {
    found.measured = from;
  }
  found.held =
      below_from(lengths, column(timed, label, bytes_of), column(timed, "softmax", bytes_of));
  return found;
}

/// "<= N" means at every length that was tried.
std::string cell(const std::optional<double>& value, Index first_length) {
  if (!value) return "-";
  const bool everywhere = *value <= static_cast<double>(first_length);
  return fmt::format("{}{:.0f}", everywhere ? "<= " : "", *value);
}

report::Json json_of(const std::optional<double>& value) {
  return value ? report::Json(*value) : report::Json();
}

std::string table_text(const std::vector<Found>& all, Index first_length) {
  std::string text = fmt::format(
      "Smallest N from which a layer of width {} with {} heads costs less than softmax "
      "attention\n\n"
      "                                                            time                        "
      "memory\n"
      "                             paper   Table 1   counted  measured     paper   Table 1      "
      "held\n",
      kWidth,
      kHeads);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PublishedCrossover& row = published()[i];
    text += fmt::format("{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
                        row.title,
                        row.time,
                        cell(all[i].table_time, 0),
                        cell(all[i].counted, first_length),
                        cell(all[i].measured, first_length),
                        row.memory,
                        cell(all[i].table_memory, 0),
                        cell(all[i].held, first_length));
  }
  return text;
}

template <class Value>
report::Chart against_length(const char* name,
                             const char* label,
                             const std::vector<ChosenMechanism>& mechanisms,
                             const std::vector<Index>& lengths,
                             const std::vector<TimedAttention>& timed,
                             const Value& value) {
  report::Chart chart =
      empty_chart(name, "tokens N", label, report::Scale::kLog, report::Scale::kLog);
  for (std::size_t m = 0; m < mechanisms.size(); ++m) {
    const std::vector<double> values = column(timed, mechanisms[m].label(), value);
    Curve points;
    for (std::size_t k = 0; k < values.size(); ++k)
      points.emplace_back(static_cast<double>(lengths[k]), values[k]);
    chart.series.push_back(
        report::styled_series(mechanisms[m].name, std::move(points), static_cast<int>(m)));
  }
  return chart;
}

struct CrossoversCommand {
  std::vector<Index> lengths{16, 32, 64, 128, 192, 256, 384, 512, 768, 1024};
  int rounds = 5;
  ChartFolder charts;
  DeviceOptions device;
  JsonOptions json;
};

/// Times the layers on one thread. A layer of FLASH replaces both attention and feed-forward layer:
/// its multiplications are compared with those of both, and its time is not compared. The charts
/// show time and memory against the length. Throws InvalidArgument unless there are two lengths or
/// more, in rising order.
ShownRows crossovers(const std::vector<Index>& lengths, int rounds) {
  require(
      lengths.size() >= 2 && std::is_sorted(lengths.begin(), lengths.end(), std::less_equal<>()),
      "reproduce crossovers: --lengths needs two or more values in increasing order");
  std::vector<ChosenMechanism> mechanisms{{"softmax", {}}};
  for (const PublishedCrossover& row : published()) mechanisms.push_back(row.mechanism);
  attention::AttentionShape shape;
  shape.width = kWidth;
  shape.heads = kHeads;
  const std::vector<TimedAttention> timed =
      attention::time_attention(mechanisms, shape, lengths, rounds);
  const TableOne table(attention::TableOneSetting{}, lengths.back());
  ShownRows shown;
  std::vector<Found> all;
  shown.more["crossovers"] = report::Json::array();
  for (const PublishedCrossover& row : published()) {
    const Found found = found_of(row, lengths, timed, table);
    shown.more["crossovers"].push_back({{"mechanism", row.mechanism.label()},
                                        {"title", row.title},
                                        {"paper_time", row.time},
                                        {"table_one_time", json_of(found.table_time)},
                                        {"counted", json_of(found.counted)},
                                        {"measured", json_of(found.measured)},
                                        {"paper_memory", row.memory},
                                        {"table_one_memory", json_of(found.table_memory)},
                                        {"held", json_of(found.held)}});
    all.push_back(found);
  }
  shown.text = table_text(all, lengths.front());
  const auto microseconds = [](const TimedAttention& row) { return 1e6 * row.forward_seconds; };
  shown.charts = {against_length("time",
                                 "microseconds of a forward pass, one thread",
                                 mechanisms,
                                 lengths,
                                 timed,
                                 microseconds),
                  against_length("memory",
                                 "bytes held for a forward and a backward pass",
                                 mechanisms,
                                 lengths,
                                 timed,
                                 bytes_of)};
  return shown;
}

int run_crossovers(const CrossoversCommand& command) {
  command.device.check_cpu_only("reproduce crossovers");
  FilePlan files = command.json.files();
  command.charts.prepare(files);
  set_threads(1);  // times are those of the calling thread
  const ShownRows shown = crossovers(command.lengths, command.rounds);
  report::Json json = report::document_head(1, 1);
  json["experiment"] = "crossovers";
  json.update(shown.more);
  command.json.write(json);
  command.charts.write(shown.charts);
  if (!command.json.replaces_text()) write_stdout(shown.text);
  return kDone;
}

}  // namespace

void add_crossovers(const Command& reproduce) {
  auto command = std::make_shared<CrossoversCommand>();
  const Command sub = reproduce.add_command(
      "crossovers",
      "Lengths above which a mechanism costs less than softmax attention [WKZL23, Table 3]");
  sub.add_option(
         "--lengths", command->lengths, "Values of N [16,32,64,128,192,256,384,512,768,1024]")
      .range(1)
      .delimiter(',');
  sub.add_option(
         "--rounds", command->rounds, "Number of interleaved rounds, whose median is used [5]")
      .range(1);
  command->charts.add(sub);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox reproduce crossovers --charts charts");
  sub.action([command] { return run_crossovers(*command); });
}

}  // namespace matapprox::app
