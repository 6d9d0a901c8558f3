#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A named array of any number of dimensions, values in C order.
struct NamedTensor {
  std::string name;
  std::vector<Index> shape;  ///< empty: one number
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>> values;
};

/// Content of a safetensors file: tensors in the order of their data, and texts by name.
struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads a safetensors file: 8 bytes with the size of the header, little-endian; a JSON header with
/// type, shape and position of each tensor; the numbers, little-endian. F32 and F64 are read
/// unchanged, including NaN and Inf; F16 and BF16 become float, U8, I32 and I64 become 64-bit
/// integers.
///
/// Cost: one pass, and the memory of the file and of the values. Throws FileError, naming the
/// tensor, for any other type; for a header that extends beyond the file, exceeds 100 MB, is not
/// JSON of the required form or gives a name twice; and for tensors that overlap, leave a gap, or
/// do not fill their range or the file exactly; NotAvailable if memory does not suffice.
TensorFile read_safetensors(const std::string& path);
/// The same from bytes in memory; `name` begins the messages.
TensorFile parse_safetensors(std::string_view bytes, const std::string& name);

/// Writes F32, F64 and I64; the file appears under its name only when complete. Numbers of 8 bytes
/// precede those of 4, so that all are aligned. The same content gives the same bytes. Throws
/// FileError; InvalidArgument for a name that is empty, "__metadata__" or given twice, a shape that
/// does not fit the values, and text that is not UTF-8.
void write_safetensors(const std::string& path,
                       std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace matapprox
