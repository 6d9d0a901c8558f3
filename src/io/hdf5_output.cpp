#include "io/hdf5_output.hpp"

#include <H5FDpublic.h>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox::hdf5 {

namespace {

/// Driver data of an open file. It begins with the part that HDF5 itself fills in.
struct OpenFile {
  H5FD_t common;
  AtomicOutput* output;
  haddr_t end_of_addresses;
};

OpenFile& ours(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file); }
const OpenFile& ours(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file); }

constexpr haddr_t kLargestAddress = static_cast<haddr_t>(std::numeric_limits<off_t>::max());

/// Driver data in the access list of the file; HDF5 copies and frees it.
struct Access {
  AtomicOutput* output;
};

void* copy_access(const void* access) { return new Access(*static_cast<const Access*>(access)); }

herr_t free_access(void* access) {
  delete static_cast<Access*>(access);
  return 0;
}

void* get_access(H5FD_t* file) { return new Access{ours(file).output}; }

H5FD_t* open_output(const char*, unsigned, hid_t access, haddr_t) {
  const auto* attached = static_cast<const Access*>(H5Pget_driver_info(access));
  if (attached == nullptr) return nullptr;
  return &(new OpenFile{.common = {}, .output = attached->output, .end_of_addresses = 0})->common;
}

herr_t close_output(H5FD_t* file) {
  delete &ours(file);
  return 0;
}

/// Reports the features of the drivers for one ordinary file, so that HDF5 uses the same layout.
herr_t query_features(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return ours(file).end_of_addresses; }

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  ours(file).end_of_addresses = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) { return ours(file).output->size(); }

herr_t read_output(
    H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  ours(file).output->read_at(address, static_cast<char*>(buffer), size);
  return 0;
}

herr_t write_output(
    H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  ours(file).output->write_at(address, {static_cast<const char*>(buffer), size});
  return 0;
}

herr_t truncate_output(H5FD_t* file, hid_t, hbool_t) {
  ours(file).output->resize(ours(file).end_of_addresses);
  return 0;
}

H5FD_class_t driver_functions() {
  constexpr std::array<H5FD_mem_t, H5FD_MEM_NTYPES> map H5FD_FLMAP_DICHOTOMY;
  H5FD_class_t functions{};
#ifdef H5FD_CLASS_VERSION
  functions.version = H5FD_CLASS_VERSION;
  functions.value = static_cast<H5FD_class_value_t>(512);  // the first one free for others
#endif
  functions.name = "matapprox";
  functions.maxaddr = kLargestAddress;
  functions.fc_degree = H5F_CLOSE_STRONG;
  functions.fapl_size = sizeof(Access);
  functions.fapl_get = get_access;
  functions.fapl_copy = copy_access;
  functions.fapl_free = free_access;
  functions.open = open_output;
  functions.close = close_output;
  functions.query = query_features;
  functions.get_eoa = get_end_of_addresses;
  functions.set_eoa = set_end_of_addresses;
  functions.get_eof = get_end_of_file;
  functions.read = read_output;
  functions.write = write_output;
  functions.truncate = truncate_output;
  std::copy(map.begin(), map.end(), functions.fl_map);
  return functions;
}

/// Registers the driver once; HDF5 keeps the address of the functions.
hid_t driver() {
  static const H5FD_class_t functions = driver_functions();
  static const hid_t id = H5FDregister(&functions);
  return id;
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : output_(std::make_unique<AtomicOutput>(std::move(path))) {
  const ErrorSilencer silencer;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Access attached{output_.get()};
  const bool ready = access && H5Pset_driver(access.id(), driver(), &attached) >= 0 &&
                     H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V18) >= 0;
  if (ready) {
    file_ = Handle(
        H5Fcreate(output_->temporary_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()),
        H5Fclose);
  }
  if (!file_) throw FileError(fmt::format("{}: HDF5 cannot create the file", this->path()));
}

void OutputFile::commit() {
  const bool complete = file_.reset();
  output_->throw_if_failed();
  if (!complete) throw FileError(fmt::format("{}: HDF5 cannot complete the file", path()));
  output_->commit();
}

}  // namespace matapprox::hdf5
