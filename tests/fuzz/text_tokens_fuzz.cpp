#include "attention/tasks/import/text_tokens.hpp"
#include "token_target.hpp"

// The input is a vocabulary up to a line "=", followed by a text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view input) {
    constexpr std::string_view kEnd = "\n=\n";
    const std::size_t end = std::min(input.find(kEnd), input.size());
    const std::string_view text = input.substr(std::min(end + kEnd.size(), input.size()));
    tasks::TokenBuilder counted({}, "fuzz", tasks::TextTokenizer(8, false), 1);
    counted.add_text(text, 0, std::nullopt, "fuzz");
    fuzz::demand_sound(counted.finish());
    for (const bool pieces : {false, true}) {
      tasks::TokenBuilder listed(
          {},
          "fuzz",
          tasks::TextTokenizer(
              tasks::parse_vocabulary(input.substr(0, end), "fuzz"), pieces, false, "fuzz"),
          1);
      listed.add_text(text, 0, std::nullopt, "fuzz");
      fuzz::demand_sound(listed.finish());
    }
  });
}
