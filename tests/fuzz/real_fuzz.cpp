#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "fuzz_target.hpp"
#include "io/number_text.hpp"

/// Compares read_real with strtod: the same bits, or both refuse.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    double value = 0;
    const char* const stop = read_real(bytes.data(), bytes.data() + bytes.size(), value);
    if (stop == nullptr) return;
    std::string text(bytes.data(), stop);
    for (char& c : text) c = c == 'd' || c == 'D' ? 'e' : c;
    char* end = nullptr;
    const double expected = std::strtod(text.c_str(), &end);
    fuzz::demand(end == text.c_str() + text.size());
    fuzz::demand(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(expected));
  });
}
