#include "matapprox/io/row_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "io/byte_stream.hpp"
#include "io/file_numbers.hpp"
#include "io/hdf5_stored.hpp"
#include "io/line_reader.hpp"
#include "io/npy_header.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// Number of bytes of text that are read at a time, and of the longest line.
constexpr Index kTextBytes = Index{1} << 22;
constexpr Index kLongestLine = Index{1} << 30;

void require_finite_part(const Matrix& A, Index rows_before, const std::string& name) {
  Index row = 0;
  Index col = 0;
  if (find_nonfinite(A, row, col)) fail_not_finite(name, rows_before + row, col, A(row, col));
}

/// Rows of a matrix that is in memory or reads its own rows.
class OperatorRows final : public RowStream {
 public:
  OperatorRows(std::shared_ptr<const LinearOperator> A, std::vector<std::string> notes)
      : A_(std::move(A)) {
    notes_ = std::move(notes);
  }
  bool read_next(Index wanted, Matrix& rows) override {
    const Index count = std::min(wanted, A_->rows() - done_);
    if (count < 1) return false;
    rows = A_->rows_at(index_range(done_, count)).transpose();
    done_ += count;
    return true;
  }
  std::optional<Index> rows() const override { return A_->rows(); }
  std::optional<Index> cols() const override { return A_->cols(); }

 private:
  std::shared_ptr<const LinearOperator> A_;
  Index done_ = 0;
};

/// Rows of a .npy file in Fortran order: a panel is a piece of every column.
class FortranNpyRows final : public RowStream {
 public:
  FortranNpyRows(const std::string& path, const FileNumbers& numbers)
      : file_(path), numbers_(numbers) {}
  bool read_next(Index wanted, Matrix& rows) override {
    const Index count = std::min(wanted, numbers_.rows - done_);
    if (count < 1) return false;
    const Index piece = count * numbers_.item_size;
    std::string bytes(static_cast<std::size_t>(piece * numbers_.cols), '\0');
    for (Index j = 0; j < numbers_.cols; ++j) {
      const Index at = numbers_.offset + (j * numbers_.rows + done_) * numbers_.item_size;
      file_.read_at(at, piece, bytes.data() + j * piece);
    }
    FileNumbers panel = numbers_;
    panel.rows = count;
    panel.offset = 0;
    rows = convert_numbers(bytes.data(), panel);
    require_finite_part(rows, done_, file_.path());
    done_ += count;
    return true;
  }
  std::optional<Index> rows() const override { return numbers_.rows; }
  std::optional<Index> cols() const override { return numbers_.cols; }

 private:
  PositionedFile file_;
  FileNumbers numbers_;
  Index done_ = 0;
};

/// Rows of consecutive arrays in .npy format.
class NpyRows final : public RowStream {
 public:
  /// A file has one array, a pipe may have any number.
  NpyRows(std::unique_ptr<ByteStream> bytes, bool is_file)
      : bytes_(std::move(bytes)), is_file_(is_file) {
    begin_block();
  }

  bool read_next(Index wanted, Matrix& rows) override {
    while (done_ == numbers_.rows) {
      if (bytes_->at_end()) return false;
      begin_block();
    }
    // All rows of an array in Fortran order are returned together.
    const Index count = numbers_.fortran_order ? numbers_.rows : std::min(wanted, left());
    FileNumbers panel = numbers_;
    panel.rows = count;
    const Index size = count * numbers_.cols * numbers_.item_size;
    const std::string_view piece = bytes_->peek(size);
    if (static_cast<Index>(piece.size()) < size) {
      const Index row_bytes = numbers_.cols * numbers_.item_size;
      const Index whole = numbers_.fortran_order ? 0 : static_cast<Index>(piece.size()) / row_bytes;
      fail_in(block_name(),
              fmt::format("the stream ends after {} of {} rows", done_ + whole, numbers_.rows));
    }
    rows = convert_numbers(piece.data(), panel);
    bytes_->advance(size);
    require_finite_part(rows, done_, block_name());
    done_ += count;
    return true;
  }
  std::optional<Index> rows() const override {
    return is_file_ ? std::optional(numbers_.rows) : std::nullopt;
  }
  std::optional<Index> cols() const override { return numbers_.cols; }

 private:
  Index left() const { return numbers_.rows - done_; }
  std::string block_name() const {
    return is_file_ ? bytes_->name() : fmt::format("{}, block {}", bytes_->name(), block_);
  }

  void begin_block() {
    const Index width = block_ > 0 ? numbers_.cols : 0;
    ++block_;
    constexpr Index kStart = 12;
    const std::string name = block_name();
    const Index length = npy_header_bytes(bytes_->peek(kStart), name);
    const std::string_view header = bytes_->peek(length);
    if (static_cast<Index>(header.size()) < length)
      fail_in(name, "the stream ends within the header");
    numbers_ = parse_npy_stream_header(header, name);
    bytes_->advance(length);
    done_ = 0;
    Index row_bytes = 0;
    Index all_bytes = 0;
    if (__builtin_mul_overflow(numbers_.cols, Index{8}, &row_bytes) ||
        __builtin_mul_overflow(numbers_.rows, row_bytes, &all_bytes)) {
      fail_in(name, fmt::format("a {} x {} array is too large", numbers_.rows, numbers_.cols));
    }
    require_memory(static_cast<double>(numbers_.fortran_order ? 2 * all_bytes : 2 * row_bytes),
                   name);
    if (width > 0 && numbers_.cols != width) {
      fail_in(name, fmt::format("{} columns; the blocks before have {}", numbers_.cols, width));
    }
  }

  std::unique_ptr<ByteStream> bytes_;
  bool is_file_;
  FileNumbers numbers_;
  Index block_ = 0;  ///< counted from 1
  Index done_ = 0;   ///< rows read of this block
};

/// Rows of a text table.
class TableRows final : public RowStream {
 public:
  explicit TableRows(std::unique_ptr<ByteStream> bytes)
      : bytes_(std::move(bytes)), reader_(bytes_->name(), &table_notes_) {}

  bool read_next(Index /*wanted*/, Matrix& rows) override {
    while (reader_.rows() == 0 && !bytes_->at_end()) read_piece();
    for (std::string& note : table_notes_) notes_.push_back(std::move(note));
    table_notes_.clear();
    if (reader_.rows() == 0) {
      if (!reader_.has_rows()) fail_in(bytes_->name(), "no row of numbers; at least one is needed");
      return false;
    }
    rows = reader_.take();
    return true;
  }

 private:
  /// Reads whole lines of about kTextBytes.
  void read_piece() {
    std::string_view piece;
    std::size_t length = 0;
    for (Index wanted = kTextBytes; length == 0; wanted *= 2) {
      if (wanted > kLongestLine)
        fail_in(bytes_->name(), fmt::format("a line of more than {} bytes", kLongestLine));
      piece = bytes_->peek(wanted);
      if (piece.find('\0') != std::string_view::npos)
        fail_in(bytes_->name(), "contains zero bytes; it is not text");
      const std::size_t line_end = piece.rfind('\n');
      const bool all = static_cast<Index>(piece.size()) < wanted;
      length = all ? piece.size() : (line_end == std::string_view::npos ? 0 : line_end + 1);
    }
    const std::string_view lines = piece.substr(0, length);
    reader_.read(std::exchange(first_, false) ? without_byte_order_mark(lines) : lines);
    bytes_->advance(static_cast<Index>(length));
  }

  std::unique_ptr<ByteStream> bytes_;
  std::vector<std::string> table_notes_;
  TableReader reader_;
  bool first_ = true;
};

std::unique_ptr<RowStream> open_pipe(const std::string& path) {
  auto bytes = std::make_unique<ByteStream>(path);
  const std::string_view start = bytes->peek(16);
  const std::string& name = bytes->name();
  if (start.empty()) fail_in(name, "it is empty");
  if (start.substr(0, kNpyMagic.size()) == kNpyMagic)
    return std::make_unique<NpyRows>(std::move(bytes), false);
  const bool compressed = start.substr(0, 2) == "\x1f\x8b";
  if (compressed) fail_in(name, "it is compressed; decompress it first, for example with zcat");
  const bool is_binary = start.substr(0, 4) == "\x89HDF" || start.substr(0, 6) == "MATLAB";
  if (is_binary || format_of_bytes(start) != FileFormat::kDelimited) {
    fail_in(name,
            "a stream holds consecutive .npy arrays or the lines of a table; for other formats "
            "give the name of the file");
  }
  return std::make_unique<TableRows>(std::move(bytes));
}

std::unique_ptr<RowStream> open_npy(const std::string& path) {
  if (!is_plain_file(path)) return open_pipe(path);
  const PositionedFile file(path);
  constexpr Index kLongestNpyHeader = Index{1} << 20;
  std::string head(static_cast<std::size_t>(std::min(file.size(), kLongestNpyHeader)), '\0');
  file.read_at(0, static_cast<Index>(head.size()), head.data());
  const FileNumbers numbers = parse_npy_header(head, file.size(), path);
  if (numbers.fortran_order) return std::make_unique<FortranNpyRows>(path, numbers);
  return std::make_unique<NpyRows>(std::make_unique<ByteStream>(path), true);
}

/// Throws if reading all rows takes a time out of proportion to the stored entries: rows are read
/// in full, including zeros.
void require_row_proportion(const LinearOperator& A, const std::string& path) {
  constexpr double kAlwaysAllowed = 1e10;
  constexpr double kNumbersPerEntry = 1e5;
  const double numbers = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  const double entries = static_cast<double>(A.cost().stored_numbers);
  if (numbers <= std::max(kAlwaysAllowed, kNumbersPerEntry * entries)) return;
  fail_in(path,
          fmt::format("{} x {} with {:.0f} stored numbers: reading its rows, including the zeros, "
                      "takes too long; `approximate` reads only the stored numbers",
                      A.rows(),
                      A.cols(),
                      entries));
}

std::unique_ptr<RowStream> rows_of(const LoadedMatrix& loaded, const std::string& path) {
  require_row_proportion(*loaded.matrix, path);
  return std::make_unique<OperatorRows>(loaded.matrix, loaded.notes);
}

std::unique_ptr<RowStream> open_hdf5(const FileName& name,
                                     const std::string& variable,
                                     bool allow_external) {
  const std::string dataset = name.dataset.empty() ? variable : name.dataset;
  require(name.dataset.empty() || variable.empty() || variable == name.dataset,
          "{}: both dataset '{}' and variable '{}' were requested",
          name.path,
          name.dataset,
          variable);
  if (dataset.empty() && is_saved_approximation(name.path)) {
    return rows_of(load(name.path), name.path);
  }
  const hdf5::ExternalScope scope(allow_external);
  const Hdf5DatasetInfo info = find_hdf5_matrix(name.path, dataset);
  constexpr Index kPanelBytes = Index{256} << 20;
  return std::make_unique<OperatorRows>(
      std::make_shared<Hdf5Operator>(name.path, info.dataset, kPanelBytes, allow_external),
      std::vector<std::string>{});
}

std::unique_ptr<RowStream> open_named_file(const std::string& path,
                                           const std::string& variable,
                                           bool allow_external) {
  const FileName name = split_file_name(path);
  std::error_code code;
  if (!fs::exists(name.path, code)) fail_in(name.path, "no such file or directory");
  const FileFormat format = format_of_name(name.path);
  const bool has_variables =
      format == FileFormat::kMat || format == FileFormat::kNpz || format == FileFormat::kHdf5;
  require(variable.empty() || has_variables,
          "{}: variable '{}' was requested, but only .mat, .npz and .h5 files have variables",
          path,
          variable);
  require(!allow_external || format == FileFormat::kHdf5 || format == FileFormat::kMat,
          "{}: allow_external applies to HDF5 and .mat files only",
          path);
  if (format == FileFormat::kNpy) return open_npy(name.path);
  if (format == FileFormat::kHdf5) return open_hdf5(name, variable, allow_external);
  if (format == FileFormat::kDelimited && is_plain_file(name.path))
    return std::make_unique<TableRows>(std::make_unique<ByteStream>(name.path));
  LoadOptions options;
  options.variable = variable;
  options.allow_external = allow_external;
  return rows_of(load(path, options), path);
}

/// Returns the files of a directory in natural order; throws unless all formats are known.
std::vector<std::string> files_of(const std::string& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.front() == '.') continue;
    const std::string path = entry.path().string();
    if (entry.is_directory()) fail_in(path, "is a directory; row blocks are files");
    format_of_name(path);
    names.push_back(name);
  }
  if (names.empty()) fail_in(directory, "an empty directory; at least one file is needed");
  std::sort(names.begin(), names.end(), natural_order);
  return names;
}

class DirectoryRows final : public RowStream {
 public:
  DirectoryRows(const std::string& directory, std::string variable, bool allow_external)
      : directory_(directory),
        variable_(std::move(variable)),
        allow_external_(allow_external),
        names_(files_of(directory)) {}

  bool read_next(Index wanted, Matrix& rows) override {
    while (parts_.size() < names_.size()) {
      const std::string path = (fs::path(directory_) / names_[parts_.size()]).string();
      if (!part_) {
        part_ = matapprox::open_row_stream(path, variable_, allow_external_);
        rows_of_part_ = 0;
      }
      const bool more = part_->next(wanted, rows);
      for (const std::string& text : part_->take_notes())
        notes_.push_back(fmt::format("{}: {}", path, text));
      if (more) {
        check_width(rows.cols(), path);
        rows_of_part_ += rows.rows();
        return true;
      }
      parts_.push_back({names_[parts_.size()], rows_of_part_});
      part_.reset();
    }
    return false;
  }

  void skip(Index count, const std::vector<StreamPart>& parts) override {
    for (const StreamPart& part : parts) {
      const std::size_t at = parts_.size();
      if (at >= names_.size() || names_[at] != part.name) {
        fail_in(directory_,
                fmt::format("the next row block is {}; it was {} when the sketch was started",
                            at < names_.size() ? names_[at] : "missing",
                            part.name));
      }
      if (part.rows > count) break;
      parts_.push_back(part);
      count -= part.rows;
    }
    RowStream::skip(count, {});
  }

  std::vector<StreamPart> parts() const override { return parts_; }

 private:
  void check_width(Index width, const std::string& path) {
    if (width_ == 0) width_ = width;
    if (width != width_)
      fail_in(path, fmt::format("{} columns; the row blocks before have {}", width, width_));
  }

  std::string directory_;
  std::string variable_;
  bool allow_external_;
  std::vector<std::string> names_;
  std::vector<StreamPart> parts_;
  std::unique_ptr<RowStream> part_;
  Index rows_of_part_ = 0;
  Index width_ = 0;
};

bool is_digit_of_name(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Returns the digits at `at` without leading zeros, and moves `at` past them.
std::string_view number_at_place(const std::string& text, std::size_t& at) {
  const std::size_t start = at;
  while (at < text.size() && is_digit_of_name(text[at])) ++at;
  std::string_view digits(text.data() + start, at - start);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

std::vector<std::string> RowStream::take_notes() { return std::exchange(notes_, {}); }

bool RowStream::next(Index wanted, Matrix& rows) {
  if (left_.rows() == 0) return read_next(wanted, rows);
  rows.swap(left_);
  left_.resize(0, 0);
  return true;
}

void RowStream::skip(Index count, const std::vector<StreamPart>& /*parts*/) {
  Matrix rows;
  while (count > 0) {
    if (!next(count, rows))
      throw FileError(fmt::format("the stream ends {} rows before those that were read", count));
    if (rows.rows() > count) left_ = rows.bottomRows(rows.rows() - count);
    count -= std::min(count, rows.rows());
  }
}

bool natural_order(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit_of_name(a[i]) && is_digit_of_name(b[j])) {
      const std::string_view x = number_at_place(a, i);
      const std::string_view y = number_at_place(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  const std::size_t left_a = a.size() - i;
  const std::size_t left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;
}

std::unique_ptr<RowStream> open_row_stream(const std::string& path,
                                           const std::string& variable,
                                           bool allow_external) {
  require(!allow_external || path != "-", "standard input: allow_external applies to files only");
  if (path == "-") return open_pipe(path);
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status))
    return std::make_unique<DirectoryRows>(path, variable, allow_external);
  if (fs::exists(status) && !fs::is_regular_file(status)) return open_pipe(path);
  return open_named_file(path, variable, allow_external);
}

}  // namespace matapprox
