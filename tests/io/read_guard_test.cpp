#include "matapprox/io/read_guard.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <variant>

#include "command_line/sandbox.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/random_block.hpp"

namespace matapprox {
namespace {

/// Sets a guard during its lifetime, then restores the guard of the tests.
class GuardScope {
 public:
  explicit GuardScope(ReadGuard guard) { set_read_guard(std::move(guard)); }
  ~GuardScope() { app::read_in_sandbox(); }
  GuardScope(const GuardScope&) = delete;
  GuardScope& operator=(const GuardScope&) = delete;
};

class ReadGuards : public testing::Test {
 protected:
  ReadGuards() {
    write_hdf5_matrix(h5_, "A", A_);
    write_mat(mat_, {{"A", A_}});
    write_png(png_, A_.cwiseAbs());
  }
  void expect_all_read() const {
    EXPECT_EQ(read_hdf5_matrix(h5_, "A"), A_);
    EXPECT_EQ(std::get<Matrix>(read_mat(mat_, "A")), A_);
    EXPECT_EQ(read_image(png_).values.rows(), 20);
  }

  const Matrix A_ = test::random_block<Matrix>(20, 10, 1);
  const std::string h5_ = test::temporary_dir() + "/guard.h5";
  const std::string mat_ = test::temporary_dir() + "/guard.mat";
  const std::string png_ = test::temporary_dir() + "/guard.png";
};

TEST_F(ReadGuards, EachReaderAsksOnceAndThenReadsByItself) {
  std::vector<std::string> asked;
  const GuardScope scope([&](const TrialRead& trial) {
    asked.push_back(trial.library);
    EXPECT_FALSE(in_trial_read());
    trial.read();
    EXPECT_FALSE(in_trial_read());
  });
  expect_all_read();
  EXPECT_EQ(asked, (std::vector<std::string>{"HDF5", "MATLAB", "PNG"}));
}

TEST_F(ReadGuards, WithoutOneNothingForksAndDamagedFilesAreRefused) {
  const GuardScope scope(nullptr);
  expect_all_read();
  for (const std::string& path : {h5_, mat_, png_}) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }
  EXPECT_THROW(read_hdf5_matrix(h5_, "A"), FileError);
  EXPECT_THROW(read_mat(mat_, "A"), FileError);
  EXPECT_THROW(read_image(png_), FileError);
}

TEST_F(ReadGuards, WhatItThrowsIsTheAnswer) {
  const GuardScope scope([](const TrialRead& trial) { throw FileError(trial.path + ": refused"); });
  EXPECT_REFUSED(FileError, read_image(png_), "guard.png: refused");
}

TEST_F(ReadGuards, NestWithoutAskingAgain) {
  int asked = 0;
  const GuardScope scope([&](const TrialRead& trial) {
    ++asked;
    trial.read();
  });
  bool inner = true;
  EXPECT_TRUE(try_read({"x.h5", "HDF5", [&] { inner = try_read({"y.h5", "HDF5", [] {}}); }}));
  EXPECT_FALSE(inner);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace matapprox
