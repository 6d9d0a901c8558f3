#pragma once

#include <string>

namespace matapprox {

/// Throws FileError if the memory that a file requires is out of proportion to the size of the
/// file, which a damaged or hostile header or compressed data can cause: more than 128 MiB and more
/// than 256 bytes for each byte of the file. The message gives both figures and `advice`, which
/// tells how to read a valid file. Throws NotAvailable, like require_memory, if the memory is not
/// available.
void require_proportion(double bytes,
                        double file_bytes,
                        const std::string& name,
                        const std::string& advice = "");

/// Largest number of bytes to which compressed text of this size may inflate: 32 MiB, or 32 times
/// its size if that is more. Numbers take up to 20 times the bytes of their text.
double inflated_text_limit(double compressed_bytes);

/// Memory of a sparse matrix and of a few vectors of either length, as readers estimate it.
double sparse_bytes(double rows, double cols, double entries);

}  // namespace matapprox
