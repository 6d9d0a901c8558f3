#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "matapprox/attention/tasks/token_set.hpp"
#include "support/paths.hpp"

// Token sets and token files for the tests of token files.

namespace matapprox::tasks {

/// Three sequences over 5 tokens and 2 classes.
inline TokenSet small_token_set() {
  TokenSet set;
  set.vocabulary = 5;
  set.classes = 2;
  set.source = "by hand";
  set.tokens = {4, 0, 1, 3, 3, 2};
  set.ends = {1, 4, 6};
  set.labels = {1, 0, 1};
  set.splits = {Split::kTrain, Split::kValidation, Split::kTest};
  return set;
}

/// The small set with sets of labels instead of classes.
inline TokenSet label_set() {
  TokenSet set = small_token_set();
  set.labels.clear();
  set.targets = {1, 0, 0, 0, 1, 1};
  return set;
}

/// Three sequences of 1 to 3 tokens with two features each.
inline TokenSet feature_set() {
  TokenSet set = small_token_set();
  set.vocabulary = 0;
  set.tokens.clear();
  set.features = 2;
  set.values = {0.5F, -1, 1e-30F, 2, 3, 4, 5, 6, 7, 8, 9, 0.1F};
  return set;
}

inline std::string token_path() { return test::temporary_dir() + "/a.h5"; }

/// A token file written with the HDF5 library alone.
class RawTokenFile {
 public:
  explicit RawTokenFile(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~RawTokenFile() { H5Fclose(file_); }
  RawTokenFile(const RawTokenFile&) = delete;
  RawTokenFile& operator=(const RawTokenFile&) = delete;

  void text(const char* name, const std::string& value) const {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, value.size());
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t made = H5Acreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, type, value.data());
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
  }
  void integer(const char* name, std::int64_t value) const {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t made = H5Acreate2(file_, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, H5T_NATIVE_INT64, &value);
    H5Aclose(made);
    H5Sclose(space);
  }
  void numbers(const char* name,
               hid_t type,
               const std::vector<hsize_t>& extents,
               const std::vector<std::int64_t>& values) const {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t made = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(made);
    H5Sclose(space);
  }
  void head(std::int64_t vocabulary, std::int64_t classes) const {
    text("format", "matapprox tokens");
    integer("format_version", 1);
    integer("vocabulary", vocabulary);
    integer("classes", classes);
    text("source", "raw");
  }

 private:
  hid_t file_;
};

}  // namespace matapprox::tasks
