#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"

// Compiled instead of mat_reader.cpp in builds without matio.
namespace matapprox {

FileMatrix read_mat(const std::string& path, const std::string& /*variable*/) {
  throw NotAvailable(path +
                     ": this build does not read MATLAB files (MATAPPROX_WITH_MATIO=OFF); in "
                     "Python use scipy.io.loadmat, or h5py for version 7.3");
}

std::string matio_version() { return {}; }

}  // namespace matapprox
