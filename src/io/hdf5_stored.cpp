#include "io/hdf5_stored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::hdf5 {

namespace {

namespace fs = std::filesystem;

thread_local bool external_files_allowed = false;

constexpr const char* kHowToAllow =
    "other files are read only with --allow-external (allow_external in C++ and Python)";
/// Maximum nesting of virtual datasets.
constexpr int kMaxVirtualDepth = 8;

[[noreturn]] void refuse_external(const std::string& what,
                                  const std::string& kind,
                                  const std::string& other) {
  throw FileError(
      fmt::format("{}: {} of the file {}; {}", what, kind, in_quotes(other), kHowToAllow));
}

/// Callback of H5Pset_elink_cb: stores the name of the other file and refuses the link.
herr_t refuse_link(const char* /*parent_file*/,
                   const char* /*parent_group*/,
                   const char* child_file,
                   const char* /*child_object*/,
                   unsigned* /*flags*/,
                   hid_t /*access*/,
                   void* name) {
  *static_cast<std::string*>(name) = child_file;
  return -1;
}

template <class Open>
Handle open_here(hid_t access_class,
                 const std::string& name,
                 const std::string& file,
                 const Open& open) {
  const ErrorSilencer silencer;
  std::string other;
  const Handle access(H5Pcreate(access_class), H5Pclose);
  if (!external_allowed()) H5Pset_elink_cb(access.id(), refuse_link, &other);
  Handle object = open(access.id());
  if (!object && !other.empty())
    refuse_external(fmt::format("{}: {}", file, in_quotes(name)), "a link to an object", other);
  return object;
}

double size_of_file(const Handle& dataset) {
  const Handle file(H5Iget_file_id(dataset.id()), H5Fclose);
  hsize_t bytes = 0;
  return file && H5Fget_filesize(file.id(), &bytes) >= 0 ? static_cast<double>(bytes) : 0.0;
}

std::string folder_of_file(const Handle& dataset) {
  const ssize_t length = H5Fget_name(dataset.id(), nullptr, 0);
  if (length <= 0) return {};
  std::string name(static_cast<std::size_t>(length), '\0');
  H5Fget_name(dataset.id(), name.data(), name.size() + 1);
  return fs::path(name).parent_path().string();
}

double count_of_points(const Handle& dataset) {
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  return space ? static_cast<double>(H5Sget_simple_extent_npoints(space.id())) : 0.0;
}

double bytes_of_type(const Handle& dataset) {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  return type ? static_cast<double>(H5Tget_size(type.id())) : 0.0;
}

/// Checks external storage, which is raw bytes of other files. HDF5 returns zeros for bytes beyond
/// the end of such a file.
void check_external_storage(const Handle& dataset, const Handle& layout, const std::string& what) {
  double left = count_of_points(dataset) * bytes_of_type(dataset);
  const int count = H5Pget_external_count(layout.id());
  for (int k = 0; k < count && left > 0; ++k) {
    std::array<char, 4096> name{};
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(layout.id(), k, name.size() - 1, name.data(), &offset, &size) < 0)
      throw FileError(fmt::format("{}: damaged external storage", what));
    const std::string other = name.data();
    if (!external_allowed()) refuse_external(what, "its values are bytes", other);
    const double wanted = size == H5F_UNLIMITED ? left : std::min(left, static_cast<double>(size));
    std::error_code code;
    const auto bytes = static_cast<double>(fs::file_size(other, code));
    if (code || bytes < static_cast<double>(offset) + wanted) {
      throw FileError(fmt::format("{}: the file {} of its external storage is missing or too short",
                                  what,
                                  in_quotes(other)));
    }
    left -= wanted;
  }
  if (left > 0) throw FileError(fmt::format("{}: its external storage is too short", what));
}

void check_dataset(const Handle& dataset, const std::string& what, int depth);

using SourceName = ssize_t (*)(hid_t, std::size_t, char*, std::size_t);

std::string source_name(SourceName get, const Handle& layout, std::size_t k) {
  const ssize_t length = get(layout.id(), k, nullptr, 0);
  std::string name(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length > 0) get(layout.id(), k, name.data(), name.size() + 1);
  return name;
}

/// Opens the file of a virtual source where HDF5 searches for it: beside the file of the dataset,
/// then under its name as given.
Handle open_source_file(const Handle& dataset, const std::string& name) {
  if (name == ".") return {H5Iget_file_id(dataset.id()), H5Fclose};
  const fs::path beside = fs::path(folder_of_file(dataset)) / name;
  for (const std::string& path : {beside.string(), name}) {
    Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file) return file;
  }
  return {};
}

/// True if a selection of a source lies within the source as it is now.
bool is_inside(const Handle& selected, const Handle& source) {
  // A selection of everything has no extents of its own.
  if (selected && H5Sget_select_type(selected.id()) == H5S_SEL_ALL) return true;
  const std::vector<Index> extents = shape(source);
  const int rank = selected ? H5Sget_simple_extent_ndims(selected.id()) : -1;
  if (rank != static_cast<int>(extents.size())) return false;
  std::vector<hsize_t> first(extents.size());
  std::vector<hsize_t> last(extents.size());
  if (H5Sget_select_bounds(selected.id(), first.data(), last.data()) < 0) return false;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (last[k] >= static_cast<hsize_t>(extents[k])) return false;
  }
  return true;
}

/// Checks source number k of a virtual dataset: HDF5 returns fill values for missing numbers.
void check_source(const Handle& dataset,
                  const Handle& layout,
                  std::size_t k,
                  const std::string& what,
                  int depth) {
  const std::string file_name = source_name(H5Pget_virtual_filename, layout, k);
  const std::string name = source_name(H5Pget_virtual_dsetname, layout, k);
  if (file_name != "." && !external_allowed())
    refuse_external(what, "a virtual dataset", file_name);
  const Handle file = open_source_file(dataset, file_name);
  const Handle source = file ? open_dataset_here(file.id(), name, what) : Handle();
  const Handle selected(H5Pget_virtual_srcspace(layout.id(), k), H5Sclose);
  const Handle target(H5Pget_virtual_vspace(layout.id(), k), H5Sclose);
  const double wanted =
      target ? static_cast<double>(H5Sget_select_npoints(target.id())) : count_of_points(dataset);
  if (!source || !is_inside(selected, source) || count_of_points(source) < wanted) {
    throw FileError(
        fmt::format("{}: the source {} in the file {} of this virtual dataset is missing "
                    "or too small",
                    what,
                    in_quotes(name),
                    in_quotes(file_name)));
  }
  check_dataset(source, fmt::format("{}: its source {}", what, in_quotes(name)), depth + 1);
}

void check_virtual(const Handle& dataset,
                   const Handle& layout,
                   const std::string& what,
                   int depth) {
  std::size_t count = 0;
  if (H5Pget_virtual_count(layout.id(), &count) < 0 || depth > kMaxVirtualDepth)
    throw FileError(fmt::format("{}: a virtual dataset that is damaged or nested too deep", what));
  double mapped = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Handle selected(H5Pget_virtual_vspace(layout.id(), k), H5Sclose);
    if (selected) mapped += static_cast<double>(H5Sget_select_npoints(selected.id()));
    check_source(dataset, layout, k, what, depth);
  }
  if (mapped < count_of_points(dataset))
    throw FileError(fmt::format("{}: the sources do not cover this virtual dataset", what));
}

/// Checks that every chunk was written, or that the file defines a fill value.
void check_chunks(const Handle& dataset, const Handle& layout, const std::string& what) {
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.id()) : 0;
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 1)));
  std::vector<hsize_t> chunk(extents.size());
  if (rank < 1 || H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr) < 0 ||
      H5Pget_chunk(layout.id(), rank, chunk.data()) != rank) {
    throw FileError(fmt::format("{}: damaged chunks", what));
  }
  double chunks = 1;
  double chunk_bytes = bytes_of_type(dataset);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const auto size = static_cast<double>(std::max<hsize_t>(1, chunk[k]));
    chunks *= std::ceil(static_cast<double>(extents[k]) / size);
    chunk_bytes *= size;
  }
  require_proportion(3 * chunk_bytes, size_of_file(dataset), what, "for one chunk");
  hsize_t written = 0;
  if (H5Dget_num_chunks(dataset.id(), space.id(), &written) < 0)
    throw FileError(fmt::format("{}: the list of its chunks is damaged", what));
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(layout.id(), &fill);
  if (written == 0) throw FileError(fmt::format("{}: its values were never written", what));
  if (static_cast<double>(written) < chunks && fill != H5D_FILL_VALUE_USER_DEFINED) {
    throw FileError(
        fmt::format("{}: {} of its {:.0f} chunks were written, and the file has no fill "
                    "value for the others",
                    what,
                    written,
                    chunks));
  }
}

void check_dataset(const Handle& dataset, const std::string& what, int depth) {
  const double points = count_of_points(dataset);
  const Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (!layout) throw FileError(fmt::format("{}: a dataset without a layout: damaged", what));
  if (points <= 0) return;
  const H5D_layout_t kind = H5Pget_layout(layout.id());
  if (kind == H5D_VIRTUAL) return check_virtual(dataset, layout, what, depth);
  if (kind == H5D_CONTIGUOUS && H5Pget_external_count(layout.id()) > 0)
    return check_external_storage(dataset, layout, what);
  if (kind == H5D_CHUNKED) return check_chunks(dataset, layout, what);
  if (kind == H5D_CONTIGUOUS && H5Dget_offset(dataset.id()) == HADDR_UNDEF)
    throw FileError(fmt::format("{}: its values were never written", what));
}

struct Walk {
  std::string path;
  std::string complaint;
};

/// Visits a link of a file; a complaint ends the walk.
herr_t visit_link(hid_t group, const char* name, const H5L_info_t* info, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  try {
    if (info->type == H5L_TYPE_EXTERNAL) {
      walk.complaint =
          fmt::format("{}: {} is an external link; {}", walk.path, in_quotes(name), kHowToAllow);
      return 1;
    }
    if (info->type != H5L_TYPE_HARD) return 0;
    const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    if (!object || H5Iget_type(object.id()) != H5I_DATASET) return 0;
    const Handle layout(H5Dget_create_plist(object.id()), H5Pclose);
    const std::string what = fmt::format("{}: {}", walk.path, in_quotes(name));
    if (layout && H5Pget_layout(layout.id()) == H5D_VIRTUAL) check_virtual(object, layout, what, 0);
    if (layout && H5Pget_external_count(layout.id()) > 0)
      check_external_storage(object, layout, what);
    return 0;
  } catch (const Error& error) {  // no exception may pass through HDF5
    walk.complaint = error.what();
    return 1;
  }
}

}  // namespace

ExternalScope::ExternalScope(bool allowed) : before_(external_files_allowed) {
  external_files_allowed = before_ || allowed;
}

ExternalScope::~ExternalScope() { external_files_allowed = before_; }

bool external_allowed() { return external_files_allowed; }

Handle open_dataset_here(hid_t place, const std::string& name, const std::string& file) {
  return open_here(H5P_DATASET_ACCESS, name, file, [&](hid_t access) {
    return Handle(H5Dopen2(place, name.c_str(), access), H5Dclose);
  });
}

Handle open_group_here(hid_t place, const std::string& name, const std::string& file) {
  return open_here(H5P_GROUP_ACCESS, name, file, [&](hid_t access) {
    return Handle(H5Gopen2(place, name.c_str(), access), H5Gclose);
  });
}

void require_stored(const Handle& dataset, const std::string& what) {
  const ErrorSilencer silencer;
  check_dataset(dataset, what, 0);
}

void require_room(const Handle& dataset, const std::string& what) {
  const Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose);
  const bool elsewhere = layout && (H5Pget_layout(layout.id()) == H5D_VIRTUAL ||
                                    H5Pget_external_count(layout.id()) > 0);
  if (elsewhere) return require_memory(8 * count_of_points(dataset), what);
  require_proportion(8 * count_of_points(dataset),
                     size_of_file(dataset),
                     what,
                     "if the size is correct, store it without compression (h5repack -f NONE)");
}

void require_own_file(const std::string& path) {
  if (external_allowed()) return;
  const ErrorSilencer silencer;
  const Handle file = open_file(path);
  Walk walk{path, {}};
  H5Lvisit(file.id(), H5_INDEX_NAME, H5_ITER_NATIVE, visit_link, &walk);
  if (!walk.complaint.empty()) throw FileError(walk.complaint);
}

}  // namespace matapprox::hdf5
