#include "token_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view text) {
    tasks::TokenBuilder builder({}, "fuzz", 256, 4);
    tasks::parse_ag_news(text, "fuzz", std::nullopt, builder);
    fuzz::demand_sound(builder.finish());
  });
}
