#include "mpi/block_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace matapprox::mpi {
namespace {

constexpr Index kNumberBytes = sizeof(double);
constexpr Index kNumbersAtOnce = Index{1} << 18;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile(OpenFile&&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  OpenFile& operator=(OpenFile&&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

bool reads(const OpenFile& file, std::uint64_t offset, std::uint64_t expected) {
  std::uint64_t found = ~expected;
  return file.is_open() &&
         pread(file.descriptor(), &found, sizeof(found), static_cast<off64_t>(offset)) ==
             sizeof(found) &&
         found == expected;
}

/// Returns true if all processes have opened the leader's file, and not a local file of the same
/// name: they read a random number that the leader writes where the block will begin.
bool all_see_the_same(const Process& process, const OpenFile& file, const FilePlace& place) {
  std::uint64_t mark = 0;
  process.agree([&] {
    if (!process.leads() || !file.is_open()) return;
    mark = (std::uint64_t{std::random_device()()} << 32) | std::random_device()();
    const std::string_view bytes(reinterpret_cast<const char*>(&mark), sizeof(mark));
    int failure = write_fully(file.descriptor(), place.offset, bytes);
    if (failure == 0 && fsync(file.descriptor()) != 0) failure = errno;
    if (failure != 0) throw_cannot_write(place.name, failure);
  });
  process.broadcast(&mark, sizeof(mark));
  const int one = reads(file, place.offset, mark) ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, process.comm());
  return all == 1;
}

/// A part of the file with numbers of all processes; those of each process are contiguous.
struct Run {
  Index first_column;
  Index columns;       ///< stored row by row
  Index rows_of_one;   ///< rows of the block for each row of the layout
  Index first_of_own;  ///< first row among the process's own rows
};

/// Returns the runs in the order of the file.
std::vector<Run> runs_of(const Layout& layout, int rank, Index columns, FilePlace::Order order) {
  const bool by_rows = order == FilePlace::Order::kRows;
  const Index rows_of_rank = layout.begins()[static_cast<std::size_t>(rank) + 1] -
                             layout.begins()[static_cast<std::size_t>(rank)];
  std::vector<Run> runs;
  for (Index c = 0; c < columns; c += by_rows ? columns : 1) {
    Index first_of_own = 0;
    for (const Index width : layout.widths()) {
      runs.push_back({c, by_rows ? columns : 1, width, first_of_own});
      first_of_own += width * rows_of_rank;
    }
  }
  return runs;
}

/// Writes `rows` rows of `own` at `offset` and returns their checksum.
uLong write_run(const OpenFile& file,
                const FilePlace& place,
                std::uint64_t offset,
                const ConstMultiVectorView& own,
                const Run& run,
                Index rows) {
  const Index at_once = std::max<Index>(1, kNumbersAtOnce / run.columns);
  std::vector<double> numbers(static_cast<std::size_t>(std::min(at_once, rows) * run.columns));
  uLong sum = crc32_z(0, nullptr, 0);
  for (Index first = 0; first < rows; first += at_once) {
    const Index count = std::min(at_once, rows - first);
    const auto bytes = static_cast<std::size_t>(count * run.columns * kNumberBytes);
    for (Index c = 0; c < run.columns; ++c) {
      const double* column =
          own.data + (run.first_column + c) * own.rows + run.first_of_own + first;
      for (Index i = 0; i < count; ++i) {
        if (place.finite && !std::isfinite(column[i]))
          throw NumericalError(fmt::format("{}: a factor holds NaN or Inf", place.name));
        numbers[static_cast<std::size_t>(i * run.columns + c)] = column[i];
      }
    }
    const auto* begin = reinterpret_cast<const char*>(numbers.data());
    const int failure = write_fully(file.descriptor(), offset, {begin, bytes});
    if (failure != 0) throw_cannot_write(place.name, failure);
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(begin), bytes);
    offset += bytes;
  }
  return sum;
}

}  // namespace

std::optional<std::uint32_t> write_block(const Process& process,
                                         const Layout& layout,
                                         const ConstMultiVectorView& own,
                                         const FilePlace& place) {
  const OpenFile file(place.path);
  if (!all_see_the_same(process, file, place)) return std::nullopt;
  const auto rank = static_cast<std::size_t>(process.rank());
  const std::vector<Index>& begins = layout.begins();
  std::vector<Run> runs;
  std::vector<std::uint32_t> sums;
  process.agree([&] {
    runs = runs_of(layout, process.rank(), own.cols, place.order);
    auto offset = place.offset;
    for (const Run& run : runs) {
      const Index bytes_of_one = run.rows_of_one * run.columns * kNumberBytes;
      sums.push_back(static_cast<std::uint32_t>(
          write_run(file,
                    place,
                    offset + static_cast<std::uint64_t>(begins[rank] * bytes_of_one),
                    own,
                    run,
                    (begins[rank + 1] - begins[rank]) * run.rows_of_one)));
      offset += static_cast<std::uint64_t>(begins.back() * bytes_of_one);
    }
    if (fsync(file.descriptor()) != 0) throw_cannot_write(place.name, errno);
  });
  const auto processes = static_cast<std::size_t>(process.size());
  std::vector<std::uint32_t> all;
  process.agree([&] { all.resize(process.leads() ? sums.size() * processes : 0); });
  const auto count = static_cast<int>(sums.size());
  MPI_Gather(sums.data(), count, MPI_UINT32_T, all.data(), count, MPI_UINT32_T, 0, process.comm());
  if (!process.leads()) return 0;
  uLong sum = crc32_z(0, nullptr, 0);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Index bytes_of_one = runs[i].rows_of_one * runs[i].columns * kNumberBytes;
    for (std::size_t p = 0; p < processes; ++p) {
      const Index bytes = (begins[p + 1] - begins[p]) * bytes_of_one;
      sum = crc32_combine(sum, all[p * runs.size() + i], static_cast<z_off_t>(bytes));
    }
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace matapprox::mpi
