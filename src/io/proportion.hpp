#pragma once

#include <string>

namespace matapprox {

/// Throws FileError if the memory that a file asks for is out of proportion to the size of the
/// file, which a damaged or hostile header or compressed data can bring about: more than 128 MiB
/// and more than 256 bytes for each byte of the file. The message gives both figures and `advice`,
/// which says what to do with a file that is what it should be. Throws NotAvailable, as
/// require_memory does, if the memory is not there.
void require_proportion(double bytes,
                        double file_bytes,
                        const std::string& name,
                        const std::string& advice = "");

/// The most bytes to which compressed text of so many bytes may inflate: 32 MiB, or 32 times its
/// size where that is more. Numbers take up to 20 times the bytes of their text.
double inflated_text_limit(double compressed_bytes);

/// The memory of a sparse matrix and of a few vectors of either length, as readers state it.
double sparse_bytes(double rows, double cols, double entries);

}  // namespace matapprox
