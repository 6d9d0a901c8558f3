#include <algorithm>

#include "fuzz_target.hpp"
#include "matapprox/io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    for (const NamedTensor& tensor : parse_safetensors(bytes, "fuzz").tensors) {
      Index count = std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0 ? 0 : 1;
      for (const Index extent : tensor.shape) {
        fuzz::demand(extent >= 0);
        count = count == 0 ? 0 : count * extent;
      }
      std::visit([&](const auto& v) { fuzz::demand(static_cast<Index>(v.size()) == count); },
                 tensor.values);
    }
  });
}
