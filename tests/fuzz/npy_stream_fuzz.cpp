#include "fuzz_target.hpp"
#include "io/npy_header.hpp"

// The header of an array in a stream of unknown length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    const Index length = npy_header_bytes(bytes.substr(0, 12), "fuzz");
    fuzz::demand(length >= 10);
    if (length > static_cast<Index>(bytes.size())) return;
    const FileNumbers numbers =
        parse_npy_stream_header(bytes.substr(0, static_cast<std::size_t>(length)), "fuzz");
    fuzz::demand(numbers.rows > 0 && numbers.cols > 0 && numbers.offset == 0);
  });
}
