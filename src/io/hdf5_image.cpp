#include "io/hdf5_image.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "io/atomic_output.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::hdf5 {

namespace {

constexpr std::size_t kGrowth = std::size_t{1} << 22;

}  // namespace

Image::Image(std::string path) : path_(std::move(path)) {
  const Quiet quiet;
  access_ = Handle(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool ready = access_ && H5Pset_fapl_core(access_.id(), kGrowth, false) >= 0 &&
                     H5Pset_libver_bounds(access_.id(), H5F_LIBVER_V18, H5F_LIBVER_V18) >= 0;
  if (ready) {
    file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_.id()), H5Fclose);
  }
  if (!file_) throw FileError(fmt::format("{}: HDF5 cannot start a file in memory", path_));
}

void Image::write() {
  const Quiet quiet;
  AtomicOutput output(path_);
  void* buffer = nullptr;
  const bool complete = H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) >= 0 &&
                        H5Fget_vfd_handle(file_.id(), access_.id(), &buffer) >= 0;
  // The size without the spare room in which the memory driver grows.
  const ssize_t size = complete ? H5Fget_file_image(file_.id(), nullptr, 0) : -1;
  if (size <= 0 || buffer == nullptr) {
    throw FileError(fmt::format("{}: HDF5 cannot complete the file in memory", path_));
  }
  // The handle of the memory driver is the address of its pointer to the bytes.
  output.write({*static_cast<const char* const*>(buffer), static_cast<std::size_t>(size)});
  output.commit();
}

}  // namespace matapprox::hdf5
