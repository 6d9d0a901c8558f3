#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <fstream>

#include "io/text_input.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/row_stream.hpp"
#include "matapprox/io/safetensors.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

std::string hostile_path(const std::string& name) {
  static const std::string folder = test::temporary_dir();
  return folder + "/" + name;
}

std::string hostile_text(const std::string& name, const std::string& text) {
  std::ofstream(hostile_path(name), std::ios::binary) << text;
  return hostile_path(name);
}

/// A file whose 2 x 2 dataset A is created by `write`.
template <class Write>
std::string hostile_hdf5(const std::string& name, const Write& write) {
  const hid_t file = H5Fcreate(hostile_path(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write(file);
  H5Fclose(file);
  return hostile_path(name);
}

void make_dataset(hid_t file, hid_t layout, hsize_t side = 2) {
  const hsize_t extents[2] = {side, side};
  const hid_t space = H5Screate_simple(2, extents, nullptr);
  H5Dclose(H5Dcreate2(file, "A", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
  H5Sclose(space);
}

TEST(HostileInput, SizesOutOfProportionAreRefusedBeforeMemoryIsTaken) {
  EXPECT_REFUSED(FileError,
                 load(hostile_text("rows.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n"
                                   "1000000000 1000000000 1\n1 1 1\n")),
                 "too much for a file of this size");
  EXPECT_REFUSED(FileError,
                 load(hostile_text("cols.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n"
                                   "1 1000000000 1\n1 1 1\n")),
                 "too much for a file of this size");
  EXPECT_REFUSED(
      FileError, load(hostile_text("node.edges", "1 1000000000\n")), "number them without gaps");
  EXPECT_REFUSED(FileError,
                 load(hostile_text("vertices.net", "*Vertices 1000000000\n*Edges\n1 2\n")),
                 "for 1000000000 vertices");
}

TEST(HostileInput, SignaturesComeBeforeMemory) {
  for (const char* name :
       {"zero.npy", "zero.npz", "zero.png", "zero.mtx", "zero.csv", "zero.edges", "zero.net"}) {
    std::filesystem::remove(hostile_path(name));
    std::filesystem::create_symlink("/dev/zero", hostile_path(name));
    EXPECT_THROW(load(hostile_path(name)), FileError) << name;
  }
}

/// These formats have no signature at the beginning that an endless device could fail.
TEST(HostileInput, DevicesAreRefused) {
  std::filesystem::remove(hostile_path("zero.safetensors"));
  std::filesystem::create_symlink("/dev/zero", hostile_path("zero.safetensors"));
  EXPECT_REFUSED(FileError, read_safetensors(hostile_path("zero.safetensors")), "it is a device");
  EXPECT_REFUSED(FileError, read_safetensors("/dev/null"), "the file is empty");
}

TEST(HostileInput, DatasetsInOtherFilesAreRefusedUnlessAllowed) {
  const Matrix A = Matrix::Constant(2, 2, 3);
  write_hdf5_matrix(hostile_path("other.h5"), "A", A);
  const std::string link = hostile_hdf5("link.h5", [](hid_t file) {
    H5Lcreate_external("other.h5", "A", file, "A", H5P_DEFAULT, H5P_DEFAULT);
  });
  LoadOptions options;
  options.variable = "A";
  EXPECT_REFUSED(FileError, load(link, options), "--allow-external");
  options.allow_external = true;
  EXPECT_EQ(load(link, options).matrix->rows(), 2);

  const std::string storage = hostile_hdf5("storage.h5", [](hid_t file) {
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(layout, "/etc/passwd", 0, 32);
    make_dataset(file, layout);
    H5Pclose(layout);
  });
  EXPECT_REFUSED(FileError, load(storage), "/etc/passwd");
}

TEST(HostileInput, NumbersThatWereNeverWrittenAreAnError) {
  const std::string plain =
      hostile_hdf5("plain.h5", [](hid_t file) { make_dataset(file, H5P_DEFAULT); });
  EXPECT_REFUSED(FileError, load(plain), "never written");
  const auto chunked = [](hsize_t side) {
    return hostile_hdf5("chunks.h5", [side](hid_t file) {
      const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
      const hsize_t chunk[2] = {2, 2};
      H5Pset_chunk(layout, 2, chunk);
      make_dataset(file, layout, side);
      H5Pclose(layout);
    });
  };
  EXPECT_REFUSED(FileError, load(chunked(4)), "never written");
  EXPECT_REFUSED(FileError, load(chunked(hsize_t{1} << 20)), "never written");
}

TEST(HostileInput, GroupsOfGroupsWithoutEndAreRefused) {
  const std::string path = hostile_hdf5("deep.h5", [](hid_t file) {
    std::string name = "g";
    for (int depth = 1; depth < 150; ++depth) name += "/g";
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Gclose(H5Gcreate2(file, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT));
    H5Pclose(links);
  });
  EXPECT_REFUSED(FileError, load(path), "nested more than 100 deep");
}

TEST(HostileInput, RowsOfAnEmptyMatrixAreNotReadOneByOne) {
  const std::string path = hostile_text("empty.mtx",
                                        "%%MatrixMarket matrix coordinate real general\n"
                                        "1000000 1000000 1\n1 1 1\n");
  EXPECT_REFUSED(FileError, open_row_stream(path), "`approximate` reads only the stored numbers");
}

TEST(HostileInput, StreamsStayInTheirFileUnlessAllowed) {
  write_hdf5_matrix(hostile_path("source.h5"), "A", Matrix::Constant(3, 2, 5));
  const std::string link = hostile_hdf5("stream.h5", [](hid_t file) {
    H5Lcreate_external("source.h5", "A", file, "A", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_REFUSED(FileError, open_row_stream(link, "A"), "--allow-external");
  Matrix rows;
  ASSERT_TRUE(open_row_stream(link, "A", true)->next(3, rows));
  EXPECT_EQ(rows, Matrix(Matrix::Constant(3, 2, 5)));
  EXPECT_REFUSED(InvalidArgument,
                 open_row_stream(hostile_text("t.csv", "1,2\n"), "", true),
                 "applies to HDF5 and .mat files only");
}

}  // namespace
}  // namespace matapprox
