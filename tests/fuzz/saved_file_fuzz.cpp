#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "factors/wavelet_coding.hpp"
#include "fuzz_target.hpp"
#include "io/hdf5_handle.hpp"
#include "io/saved_schema.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/io/saved_approximation.hpp"

// Saved approximations of format versions 2 and 3 and saved sketches, with some attributes and
// arrays changed, shortened, removed or given another type. A file that is not refused must
// multiply. HDF5 itself is not under test, so the files stay well-formed; the input selects the
// file and its changes.

namespace {

using matapprox::ConstBlock;
using matapprox::Factor;
using matapprox::Index;
using matapprox::make_factor;
using matapprox::Matrix;
using matapprox::hdf5::Handle;

/// Reads numbers from the start of the input; zeros after its end.
class Edits {
 public:
  explicit Edits(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  template <class Number>
  Number number() {
    Number value{};
    const std::size_t count = std::min(sizeof(Number), rest_.size());
    if (count > 0) std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  std::size_t below(std::size_t count) { return number<std::uint8_t>() % count; }
  /// Small numbers, numbers around 0 and powers of 2 are more frequent than others.
  std::int64_t integer() {
    const auto byte = number<std::uint8_t>();
    if (byte < 200) return byte;
    if (byte < 216) return byte - 208;
    if (byte < 250) return (std::int64_t{1} << (byte - 200)) - number<std::int8_t>();
    return number<std::int64_t>();
  }

 private:
  std::string_view rest_;
};

/// A file in memory, under a name that HDF5 can open.
class MemoryFile {
 public:
  MemoryFile() : path_("/dev/shm/saved_file_fuzz." + std::to_string(getpid())) {}
  ~MemoryFile() { unlink(path_.c_str()); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void replace(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

/// An attribute or a dataset of a file: the path of its object, and the name of an attribute.
/// Checksums of datasets are excluded: replacing a dataset removes its checksum.
struct StoredItem {
  std::string object;
  std::string attribute;
};

struct Original {
  std::string bytes;
  std::vector<StoredItem> items;
};

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t collect_object(hid_t, const char* name, const H5O_info_t* info, void* objects) {
  auto& list = *static_cast<std::vector<std::pair<std::string, bool>>*>(objects);
  list.emplace_back(name, info->type == H5O_TYPE_DATASET);
  return 0;
}

std::vector<StoredItem> items_of(const std::string& path) {
  const Handle file = matapprox::hdf5::open_file(path);
  std::vector<std::pair<std::string, bool>> objects;
  H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_NATIVE, collect_object, &objects, H5O_INFO_BASIC);
  std::vector<StoredItem> items;
  for (const auto& [name, is_dataset] : objects) {
    if (is_dataset) items.push_back({name, {}});
    const Handle object(H5Oopen(file.id(), name.c_str(), H5P_DEFAULT), H5Oclose);
    std::vector<std::string> attributes;
    hsize_t position = 0;
    H5Aiterate2(
        object.id(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect_attribute, &attributes);
    for (const std::string& attribute : attributes) {
      if (attribute != "crc32") items.push_back({name, attribute});
    }
  }
  return items;
}

Matrix example(Index rows, Index cols) {
  Matrix A(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) A(i, j) = static_cast<double>((5 * i + 3 * j) % 17) - 8.0;
  }
  return A;
}

/// Positions in a list of `values` numbers that repeat themselves, and are coded.
matapprox::DictionaryMatrix coded(Index values) {
  Matrix A(24, 40);
  for (Index k = 0; k < A.size(); ++k) A.data()[k] = static_cast<double>(k % values);
  return *matapprox::DictionaryMatrix::of(A);
}

matapprox::WaveletMatrix wavelets() {
  const matapprox::wavelets::Integers q = (9 * example(24, 17)).cast<std::int32_t>();
  matapprox::WaveletMatrix::Content content{
      24, 17, false, 1, 0.5, {10, 0, -3}, (q.array() != 0).count(), {}, {}};
  content.data = matapprox::wavelets::encode_stream({24, 17, 1, false}, 0, q);
  content.lengths = {static_cast<Index>(content.data.size())};
  return matapprox::WaveletMatrix(std::move(content));
}

matapprox::PackedMatrix packed(Index rows, std::vector<std::uint8_t> bits, Index group = 0) {
  return matapprox::PackedMatrix::rounded(
      example(rows, static_cast<Index>(bits.size())), bits, group);
}

/// A low-rank leaf above the diagonal, a dense one and a sparse one; a low-rank remainder is added
/// to them.
matapprox::BlockMatrix blocks(bool symmetric) {
  using matapprox::LeafKind;
  matapprox::BlockMatrix::Content content;
  content.rows = content.cols = 12;
  content.symmetric = symmetric;
  content.unit = 0.25;
  content.offset = 0.5;
  content.leaves = {{0, 6, 6, 6, LeafKind::kLowRank, 2},
                    {0, 6, 0, 6, LeafKind::kDense, 0},
                    {6, 6, 6, 6, LeafKind::kSparse, 3},
                    {0, 12, 0, 12, LeafKind::kLowRank, 1}};
  content.layers = {3, 1};
  content.bits = {4, 3, 8, 5, 32};
  content.scales = {0x3F80, 0x3F00, 0x3F80, 0x3F80, 0x3E80};
  const std::size_t triangle = symmetric ? 21 : 36;
  const std::size_t of_ieee = symmetric ? 12 : 24;
  // u and v of 6 values each, 4 and then 3 bits; the dense values; gaps, values of 5 bits; u, v.
  content.data.assign(2 * 3 + 2 * 3 + triangle, 0x53);
  for (const std::uint8_t byte : {0, 6, 6, 0x21, 0x43}) content.data.push_back(byte);
  for (std::size_t i = 0; i < of_ieee; ++i) {
    for (const std::uint8_t byte : {0, 0, 0x80, 0x3F}) content.data.push_back(byte);
  }
  return matapprox::BlockMatrix(std::move(content));
}

matapprox::PackedSparse sparse(double step) {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < 20; ++i) {
    entries.emplace_back(i, i, 2);
    if (i < 19) entries.emplace_back(i, i + 1, step * static_cast<double>(i % 5));
    if (i < 19 && step == 1) entries.emplace_back(i + 1, i, step * static_cast<double>(i % 5));
  }
  matapprox::SparseMatrix A(20, 20);
  A.setFromTriplets(entries.begin(), entries.end());
  return matapprox::PackedSparse::packed(A);
}

matapprox::PackedChord chain() {
  matapprox::ChordFactors values{{16, {{0, 1, 2}, {0, 4, 8}}}, std::vector<double>(96)};
  for (std::size_t i = 0; i < values.values.size(); ++i)
    values.values[i] = static_cast<double>(i % 7) - 3;
  return matapprox::PackedChord::rounded(values, 6);
}

std::vector<std::vector<Factor>> examples() {
  std::vector<Index> turned;
  for (Index i = 0; i < 12; ++i) turned.push_back((i + 5) % 12);
  const Factor order = make_factor("P", matapprox::Permutation(turned));
  const Factor back{"P", order.value, true};
  return {{make_factor("U", packed(10, {8, 5, 2, 0})),
           make_factor("V", packed(9, {16, 4, 1, 0}, 8), true)},
          {make_factor("U", packed(7, {32, 64, 12})), make_factor("V", packed(5, {7, 3, 6}), true)},
          {back, make_factor("H", blocks(true)), order},
          {make_factor("H", blocks(false))},
          {make_factor("A", sparse(1))},
          {make_factor("A", sparse(0.1))},
          {make_factor("W", chain())},
          {make_factor("C", matapprox::Circulant(example(9, 1).col(0)))},
          {make_factor("D", *matapprox::DictionaryMatrix::of(example(9, 7)))},
          {make_factor("D", coded(3))},
          {make_factor("D", coded(50))},
          {make_factor("Z", *matapprox::CompressedMatrix::of(example(24, 17)))},
          {make_factor("X", matapprox::KroneckerSparse({3, 2, 2, 2}, packed(12, {8, 5})))},
          {make_factor("W", wavelets())},
          {make_factor("T", matapprox::TransformMatrix(matapprox::TransformKind::kSine, 9))},
          {make_factor(
              "S",
              matapprox::SumMatrix({make_factor("C", matapprox::Circulant(example(9, 1).col(0))),
                                    make_factor("D", example(9, 9))}))},
          {make_factor("K",
                       matapprox::KroneckerSum(
                           {{3, 3, 4, 4}, true, packed(6, {8, 5}), packed(10, {4, 64}), {}}))},
          {make_factor("T",
                       matapprox::ToeplitzMatrix(
                           {{matapprox::ToeplitzLevel{2, 3}, {4, 5}}, example(32, 1).col(0)}))}};
}

void save_sketch_example(const std::string& path) {
  matapprox::SketchOptions options;
  options.rank = 1;
  options.range_size = 3;
  options.core_size = 5;
  options.error_samples = 2;
  matapprox::StreamingSketch sketch(0, 8, options);
  sketch.update(0, example(4, 8));
  sketch.update(6, example(2, 8));
  matapprox::save_sketch(path, sketch, {"rows", {{"a.npy", 4}, {"b.npy", 2}}, 1.5});
}

std::vector<Original> make_originals(const MemoryFile& file) {
  std::vector<Original> originals;
  const auto take = [&] { originals.push_back({file.content(), items_of(file.path())}); };
  for (const std::vector<Factor>& factors : examples()) {
    matapprox::Approximation approximation(factors, {}, false, matapprox::Precision::kPacked);
    matapprox::save(file.path(), approximation, {});
    take();
  }
  // A checkpoint.
  matapprox::SavedRecord record;
  record.resume.arrays.emplace_back("numbers", matapprox::Vector::LinSpaced(9, 0, 1));
  record.resume.counters.emplace_back("count", 9);
  matapprox::save(file.path(), matapprox::Approximation(examples().front(), {}), record);
  take();
  save_sketch_example(file.path());
  take();
  return originals;
}

/// Type of the replacement of an array or an attribute.
hid_t number_type(std::size_t choice) {
  const std::array<hid_t, 8> types{H5T_STD_U8LE,
                                   H5T_STD_U16LE,
                                   H5T_STD_I32LE,
                                   H5T_STD_I64LE,
                                   H5T_IEEE_F32LE,
                                   H5T_IEEE_F64LE,
                                   H5T_STD_U64LE,
                                   H5T_STD_I8LE};
  return types[choice % types.size()];
}

void edit_attribute(const Handle& file, const StoredItem& item, Edits& edits) {
  const Handle object(H5Oopen(file.id(), item.object.c_str(), H5P_DEFAULT), H5Oclose);
  const Handle old(H5Aopen(object.id(), item.attribute.c_str(), H5P_DEFAULT), H5Aclose);
  if (!old) return;
  const std::size_t way = edits.below(8);
  const Handle kept_type(H5Aget_type(old.id()), H5Tclose);
  const bool is_text = H5Tget_class(kept_type.id()) == H5T_STRING;
  H5Adelete(object.id(), item.attribute.c_str());
  if (way == 0) return;
  const hsize_t two = 2;
  const Handle space(way == 1 ? H5Screate_simple(1, &two, nullptr) : H5Screate(H5S_SCALAR),
                     H5Sclose);
  const auto write = [&](hid_t type, hid_t memory, const void* value) {
    const Handle attribute(
        H5Acreate2(object.id(), item.attribute.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (attribute) H5Awrite(attribute.id(), memory, value);
  };
  if (way == 2 || (way > 4 && is_text)) {
    const std::array<const char*, 10> words{"packed",
                                            "blocks",
                                            "permutation",
                                            "packed_chord",
                                            "packed_sparse",
                                            "dense",
                                            "random",
                                            "dictionary",
                                            "integers",
                                            "numbers"};
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    const char* word = words[edits.below(words.size())];
    H5Tset_size(type.id(), std::strlen(word) + 1);
    if (way != 1) write(type.id(), type.id(), word);
  } else if (way == 3) {
    const std::array<double, 2> values{edits.number<double>(), 1};
    write(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
  } else {
    const std::array<std::int64_t, 2> values{edits.integer(), 1};
    write(way == 4 ? number_type(edits.below(8)) : H5T_STD_I64LE, H5T_NATIVE_INT64, values.data());
  }
}

/// Reads the numbers of a dataset as 64-bit integers or doubles, edits them and writes them as the
/// same type.
template <class Number>
void edit_numbers(const Handle& file,
                  const StoredItem& item,
                  Edits& edits,
                  hid_t memory,
                  const std::function<Number()>& next) {
  std::vector<hsize_t> extents;
  std::vector<Number> values;
  Handle type;
  {
    const Handle dataset(H5Dopen2(file.id(), item.object.c_str(), H5P_DEFAULT), H5Dclose);
    for (const Index extent : matapprox::hdf5::shape(dataset))
      extents.push_back(static_cast<hsize_t>(extent));
    std::size_t count = 1;
    for (const hsize_t extent : extents) count *= extent;
    values.resize(count);
    type = Handle(H5Dget_type(dataset.id()), H5Tclose);
    if (count > 0) H5Dread(dataset.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  const std::size_t way = edits.below(16);
  hid_t stored = type.id();
  if (way < 3) {  // another length
    if (extents.empty()) extents.push_back(1);
    extents[0] = edits.below(way == 0 ? 8 : 200);
    std::size_t count = 1;
    for (const hsize_t extent : extents) count *= extent;
    values.resize(count, values.empty() ? Number{1} : values.back());
  } else if (way == 3) {
    stored = number_type(edits.below(8));
  } else if (way == 4) {  // another number of dimensions
    extents = extents.size() == 1 ? std::vector<hsize_t>{extents[0], 1}
                                  : std::vector<hsize_t>{values.size()};
  } else if (way < 10) {  // a run of new values
    const std::size_t first = values.empty() ? 0 : edits.below(values.size());
    const std::size_t end = std::min(values.size(), first + 1 + edits.below(8));
    for (std::size_t i = first; i < end; ++i) values[i] = next();
  } else if (!values.empty()) {
    values[edits.below(values.size())] = next();
  }
  H5Ldelete(file.id(), item.object.c_str(), H5P_DEFAULT);
  if (way == 15) return;
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose);
  const Handle dataset(H5Dcreate2(file.id(),
                                  item.object.c_str(),
                                  stored,
                                  space.id(),
                                  H5P_DEFAULT,
                                  H5P_DEFAULT,
                                  H5P_DEFAULT),
                       H5Dclose);
  if (dataset && !values.empty())
    H5Dwrite(dataset.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void edit_dataset(const Handle& file, const StoredItem& item, Edits& edits) {
  if (H5Lexists(file.id(), item.object.c_str(), H5P_DEFAULT) <= 0) return;
  H5T_class_t kind = H5T_NO_CLASS;
  {
    const Handle dataset(H5Dopen2(file.id(), item.object.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    kind = H5Tget_class(type.id());
  }
  if (kind == H5T_INTEGER) {
    edit_numbers<std::int64_t>(
        file, item, edits, H5T_NATIVE_INT64, [&] { return edits.integer(); });
  } else if (kind == H5T_FLOAT) {
    edit_numbers<double>(
        file, item, edits, H5T_NATIVE_DOUBLE, [&] { return edits.number<double>(); });
  } else {
    H5Ldelete(file.id(), item.object.c_str(), H5P_DEFAULT);
  }
}

void edit(const std::string& path, const std::vector<StoredItem>& items, Edits& edits) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  matapprox::fuzz::demand(static_cast<bool>(file));
  for (int k = 0; k < 8 && !edits.empty(); ++k) {
    const StoredItem& item = items[edits.number<std::uint16_t>() % items.size()];
    if (item.attribute.empty()) {
      edit_dataset(file, item, edits);
    } else {
      edit_attribute(file, item, edits);
    }
  }
}

void use(const matapprox::Approximation& A) {
  (void)A.storage();
  (void)A.description();
  constexpr Index kAffordable = 4096;
  for (const Factor& factor : A.factors()) {
    if (matapprox::factor_rows(factor) > kAffordable ||
        matapprox::factor_cols(factor) > kAffordable)
      return;
  }
  for (const Index columns : {1, 9}) {
    matapprox::fuzz::demand(A.apply(Matrix::Ones(A.cols(), columns)).rows() == A.rows());
    matapprox::fuzz::demand(A.apply_transpose(Matrix::Ones(A.rows(), columns)).rows() == A.cols());
  }
  const std::array<Index, 2> ends{0, A.cols() - 1};
  matapprox::fuzz::demand(A.columns_at(ends).cols() == 2);
  matapprox::fuzz::demand(A.diagonal().size() == std::min(A.rows(), A.cols()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return matapprox::fuzz::run(data, size, [](std::string_view bytes) {
    const matapprox::hdf5::ErrorSilencer silencer;
    static const MemoryFile file;
    static const std::vector<Original> originals = make_originals(file);
    Edits edits(bytes);
    const std::size_t which = edits.below(originals.size());
    file.replace(originals[which].bytes);
    edit(file.path(), originals[which].items, edits);
    if (which + 1 == originals.size()) {
      (void)matapprox::load_sketch(file.path()).sketch.missing();
    } else {
      use(matapprox::read_saved_file(file.path()).approximation);
    }
  });
}
