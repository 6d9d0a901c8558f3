#include "fuzz_target.hpp"
#include "io/text_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    constexpr Index kLimit = Index{1} << 20;
    fuzz::demand(static_cast<Index>(gunzip(bytes, "fuzz", kLimit).size()) <= kLimit);
  });
}
