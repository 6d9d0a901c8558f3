#include "token_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  fuzz::run(data, size, [](std::string_view text) {
    tasks::TokenBuilder builder({}, "fuzz", 5, 1);
    tasks::parse_genome(text, "fuzz", 0, builder);
    fuzz::demand_sound(builder.finish());
  });
  return fuzz::run(data, size, [](std::string_view text) {
    tasks::ImportOptions options;
    options.class_levels = 2;
    tasks::TokenBuilder builder(options, "fuzz", 26, 1);
    tasks::ClassNumbers numbers;
    tasks::parse_proteins(text, "fuzz", std::nullopt, numbers, builder);
    builder.set().classes = std::ssize(numbers);
    fuzz::demand_sound(builder.finish());
  });
}
