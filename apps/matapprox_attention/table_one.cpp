#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"

namespace matapprox::app {
namespace {

using attention::AttentionCost;
using attention::TableOneSetting;

/// Crossovers are searched up to this length: counting the tiles of softmax attention takes time ~
/// N^2.
constexpr Index kLongest = 4096;

struct Entry {
  const char* mechanism;
  AttentionCost (*theory)(const TableOneSetting&, Index);
  Index TableOneSetting::*rank;  ///< null: the mechanism has no rank
};
constexpr std::array<Entry, 3> kEntries{
    {{"softmax", attention::table_one_softmax, nullptr},
     {"linformer", attention::table_one_linformer, &TableOneSetting::linformer_rank},
     {"singularformer",
      attention::table_one_singularformer,
      &TableOneSetting::singularformer_rank}}};

attention::CostOfLength theory_of(const Entry& entry, const TableOneSetting& setting) {
  return [=](Index n) { return entry.theory(setting, n); };
}

/// Cost by length, counted by a layer that has no parameter values.
attention::CostOfLength counted_of(const Entry& entry, const TableOneSetting& setting) {
  attention::ParameterList list;
  attention::AttentionShape shape;
  shape.width = setting.width;
  shape.heads = setting.heads;
  shape.length = kLongest;
  NamedOptions options;
  if (entry.rank != nullptr) options = {{"rank", fmt::format("{}", setting.*entry.rank)}};
  const std::shared_ptr<const attention::Attention<float>> layer =
      attention::make_attention<float>(entry.mechanism, list, "layer", shape, options);
  return [layer](Index n) { return layer->cost(n); };
}

std::string number_or_blank(const std::optional<Index>& number) {
  return number ? fmt::format("{}", *number) : "";
}

report::Json number_or_null(const std::optional<Index>& number) {
  return number ? report::Json(*number) : report::Json();
}

report::Json cost_json(const AttentionCost& cost) {
  return {{"multiplications", cost.multiplications}, {"numbers", cost.stored}};
}

report::Json crossover_json(const attention::Crossover& from) {
  return {{"multiplications", number_or_null(from.multiplications)},
          {"numbers", number_or_null(from.stored)}};
}

}  // namespace

TableOne::TableOne(const TableOneSetting& setting, Index length)
    : setting_(setting), length_(length) {
  const auto theory_softmax = theory_of(kEntries[0], setting);
  const auto counted_softmax = counted_of(kEntries[0], setting);
  for (const Entry& entry : kEntries) {
    const auto theory = theory_of(entry, setting);
    const auto counted = counted_of(entry, setting);
    rows_.push_back({entry.mechanism,
                     theory(length),
                     counted(length),
                     attention::crossover(theory, theory_softmax, kLongest),
                     attention::crossover(counted, counted_softmax, kLongest)});
  }
}

std::string TableOne::text() const {
  std::string text = fmt::format(
      "\nd = {}, {} heads, k = {}, r = {}; at N = {}: values of [WKZL23, Table 1], and counts of "
      "these layers\n"
      "{:<16}{:>29}{:>23}{:>32}\n"
      "{:<16}{:>15}{:>14}{:>12}{:>11}{:>12}{:>9}{:>11}\n",
      setting_.width,
      setting_.heads,
      setting_.linformer_rank,
      setting_.singularformer_rank,
      length_,
      "",
      "multiplications",
      "numbers held",
      "below softmax from N",
      "",
      "table",
      "counted",
      "table",
      "counted",
      "mult.",
      "numbers",
      "counted");
  for (const Row& row : rows_) {
    text += fmt::format("{:<16}{:>15}{:>14}{:>12}{:>11}{:>12}{:>9}{:>11}\n",
                        row.mechanism,
                        row.theory.multiplications,
                        row.counted.multiplications,
                        row.theory.stored,
                        row.counted.stored,
                        number_or_blank(row.theory_from.multiplications),
                        number_or_blank(row.theory_from.stored),
                        number_or_blank(row.counted_from.multiplications));
  }
  text +=
      "linformer needs 2 (N - k) d^2 multiplications fewer than the table, because it mixes tokens "
      "before projecting them\n";
  return text;
}

report::Json TableOne::json() const {
  report::Json json{{"width", setting_.width},
                    {"heads", setting_.heads},
                    {"linformer_rank", setting_.linformer_rank},
                    {"singularformer_rank", setting_.singularformer_rank},
                    {"length", length_},
                    {"rows", report::Json::array()}};
  for (const Row& row : rows_) {
    json["rows"].push_back({{"mechanism", row.mechanism},
                            {"table", cost_json(row.theory)},
                            {"counted", cost_json(row.counted)},
                            {"table_below_softmax_from", crossover_json(row.theory_from)},
                            {"counted_below_softmax_from", crossover_json(row.counted_from)}});
  }
  return json;
}

const TableOne::Row* TableOne::row_of(const std::string& mechanism) const {
  const auto found = std::find_if(
      rows_.begin(), rows_.end(), [&](const Row& row) { return row.mechanism == mechanism; });
  return found == rows_.end() ? nullptr : &*found;
}

}  // namespace matapprox::app
