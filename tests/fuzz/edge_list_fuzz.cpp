#include "fuzz_target.hpp"
#include "matapprox/io/matrix_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    fuzz::demand_sound(parse_edge_list(bytes, "fuzz", true));
    fuzz::demand_sound(parse_edge_list(bytes, "fuzz", false));
  });
}
