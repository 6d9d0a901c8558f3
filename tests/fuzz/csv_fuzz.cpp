#include "token_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  const auto parse = [](std::string_view text, const tasks::ImportOptions& options) {
    tasks::TokenBuilder builder(options, "fuzz", tasks::TextTokenizer(), 1);
    tasks::LabelLists labels;
    tasks::parse_csv(text, "fuzz", std::nullopt, labels, builder);
    if (labels.numbers.empty()) return;
    tasks::set_labels(labels, tasks::has_label_sets(options), builder.set());
    fuzz::demand_sound(builder.finish());
  };
  tasks::ImportOptions options;
  options.skip_empty = true;
  fuzz::run(data, size, [&](std::string_view text) { parse(text, options); });
  options.label_columns = "label,text";
  fuzz::run(data, size, [&](std::string_view text) { parse(text, options); });
  options.label_columns = "label";
  options.label_separator = ";";
  return fuzz::run(data, size, [&](std::string_view text) { parse(text, options); });
}
