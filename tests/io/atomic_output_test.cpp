#include "matapprox/io/atomic_output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "matapprox/core/error.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

namespace fs = std::filesystem;

Index files_in(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

/// Simulates a disk on which no file can grow beyond the given size.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*old_handler_)(int);
  rlimit old_limit_{};
};

TEST(AtomicOutput, AppearsOnCommitOnly) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/a.txt";
  {
    AtomicOutput output(path);
    output.write("new");
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(fs::path(output.temporary_path()).parent_path(), folder);
    output.commit();
  }
  EXPECT_EQ(test::read_file(path), "new");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicOutput, KeepsTheOldFileWithoutCommit) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/a.txt";
  std::ofstream(path) << "old";
  {
    AtomicOutput output(path);
    output.write("half of the n");
  }
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicOutput, TwoWritersDoNotMeet) {
  const std::string path = test::temporary_dir() + "/a.txt";
  AtomicOutput one(path);
  AtomicOutput two(path);
  EXPECT_NE(one.temporary_path(), two.temporary_path());
  one.write("one");
  two.write("two");
  one.commit();
  two.commit();
  EXPECT_EQ(test::read_file(path), "two");
}

void put_text(const std::string& path, const std::string& text) {
  AtomicOutput output(path);
  output.write(text);
  output.commit();
}

TEST(AtomicOutput, LeavesWhatOthersPutThereMeanwhile) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/a.txt";
  keep_foreign_files(path);
  EXPECT_EQ(actual_output_path(path), path);
  test::write_file(path, "another's");
  put_text(path, "one");
  EXPECT_EQ(test::read_file(path), "another's");
  EXPECT_EQ(actual_output_path(path), folder + "/a.1.txt");
  EXPECT_EQ(test::read_file(folder + "/a.1.txt"), "one");
  put_text(path, "two");  // replaces our own file
  EXPECT_EQ(test::read_file(folder + "/a.1.txt"), "two");
  EXPECT_EQ(files_in(folder), 2);
  test::write_file(folder + "/b", "another's");
  fs::rename(folder + "/b", folder + "/a.1.txt");  // no longer our file
  put_text(path, "three");
  EXPECT_EQ(test::read_file(folder + "/a.1.txt"), "another's");
  EXPECT_EQ(test::read_file(folder + "/a.2.txt"), "three");
  const std::vector<DisplacedOutput> displaced = displaced_outputs();
  const auto found = std::find_if(displaced.begin(), displaced.end(), [&](const auto& output) {
    return output.path == path && output.place == folder + "/a.2.txt";
  });
  EXPECT_NE(found, displaced.end());
}

TEST(AtomicOutput, TakesItsOwnNameWhereThatIsFree) {
  const std::string path = test::temporary_dir() + "/a.txt";
  keep_foreign_files(path);
  put_text(path, "one");
  put_text(path, "two");
  EXPECT_EQ(test::read_file(path), "two");
  EXPECT_EQ(actual_output_path(path), path);
  EXPECT_EQ(files_in(fs::path(path).parent_path()), 1);
}

TEST(AtomicOutput, KnowsThreeWaysToANameThatMustBeFree) {
  for (const NamingWay way : {NamingWay::kRename, NamingWay::kLink, NamingWay::kClaim}) {
    const std::string folder = test::temporary_dir();
    test::write_file(folder + "/from", "new");
    test::write_file(folder + "/taken", "old");
    const auto refused = rename_if_free(folder + "/from", folder + "/taken", way);
    if (!refused) continue;  // not supported by this file system
    EXPECT_FALSE(*refused);
    EXPECT_EQ(test::read_file(folder + "/taken"), "old");
    EXPECT_EQ(test::read_file(folder + "/from"), "new");
    EXPECT_EQ(rename_if_free(folder + "/from", folder + "/free", way), true);
    EXPECT_EQ(test::read_file(folder + "/free"), "new");
    EXPECT_FALSE(fs::exists(folder + "/from"));
    EXPECT_EQ(files_in(folder), 2);
    EXPECT_REFUSED(FileError,
                   rename_if_free(folder + "/free", folder + "/none/x", way),
                   "cannot write: No such file");
  }
}

TEST(AtomicOutput, RefusesWhatCannotBeReplaced) {
  const std::string folder = test::temporary_dir();
  EXPECT_REFUSED(FileError, AtomicOutput(folder + "/no/a.txt"), "no' does not exist");
  EXPECT_REFUSED(FileError, AtomicOutput(folder), "not a regular file");
  EXPECT_REFUSED(FileError, AtomicOutput("/dev/full"), "not a regular file");
}

TEST(AtomicOutput, AFullDiskLeavesNothing) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/a.txt";
  std::ofstream(path) << "old";
  {
    const SmallDisk disk(1000);
    EXPECT_REFUSED(
        FileError,
        [&] {
          AtomicOutput output(path);
          output.write(std::string(5000, 'x'));
          output.commit();
        }(),
        "a.txt: cannot write: File too large");
  }
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicOutput, SavingOnAFullDiskKeepsTheOldApproximation) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/a.h5";
  const Approximation small({make_factor("A", test::random_matrix(3, 3))}, {});
  const Approximation large({make_factor("A", test::random_matrix(300, 300))}, {});
  save(path, small, {});
  {
    const SmallDisk disk(100000);
    EXPECT_REFUSED(FileError, save(path, large, {}), "cannot write: File too large");
  }
  EXPECT_EQ(load_approximation(path).approximation.rows(), 3);
  EXPECT_EQ(files_in(folder), 1);
  save(path, large, {});  // HDF5 still works
  EXPECT_EQ(load_approximation(path).approximation.rows(), 300);
}

}  // namespace
}  // namespace matapprox
