#include "matapprox/core/error.hpp"
#include "matapprox/io/mat_file.hpp"

// Compiled instead of mat_reader.cpp in builds without matio.
namespace matapprox {

FileMatrix read_mat(const std::string& path, const std::string& /*variable*/) {
  throw NotAvailable(path +
                     ": this build does not read MATLAB files (MATAPPROX_WITH_MATIO=OFF); Python "
                     "reads them by scipy.io.loadmat, of version 7.3 by h5py");
}

std::string matio_version() { return {}; }

}  // namespace matapprox
