#include "catalog.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/sha256.hpp"

namespace matapprox::generate {

namespace {

bool equals_transpose(const SparseMatrix& A) {
  const SparseMatrix transpose = A.transpose();
  return SparseMatrix(A - transpose).squaredNorm() == 0;
}

Index count_nonzeros(const Matrix& A) { return (A.array() != 0).count(); }

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file || !bytes) throw FileError(path + ": cannot be read back");
  return bytes.str();
}

}  // namespace

void Catalog::enter(const About& about,
                    const std::string& extension,
                    const std::string& load_as,
                    Index order,
                    Index nonzeros) {
  entries_.push_back({about.name,
                      about.name + extension,
                      load_as,
                      about.category,
                      order,
                      nonzeros,
                      about.source,
                      about.comment});
}

void Catalog::add(const About& about, const SparseMatrix& A) {
  enter(about, ".mtx", "matrix", A.rows(), A.nonZeros());
  write_matrix_market(path_of(entries_.back().file), A, equals_transpose(A));
}

void Catalog::add(const About& about, const Matrix& A) {
  enter(about, ".mtx", "matrix", A.rows(), count_nonzeros(A));
  write_matrix_market(path_of(entries_.back().file), A);
}

void Catalog::add_image(const About& about, const Matrix& gray) {
  enter(about, ".png", "matrix", gray.rows(), count_nonzeros(gray));
  write_png(path_of(entries_.back().file), gray);
}

void Catalog::add_table(const About& about,
                        const Matrix& rows,
                        const std::string& load_as,
                        Index order) {
  enter(about, ".csv", load_as, order, order * order);
  write_csv(path_of(entries_.back().file), rows);
}

void Catalog::write_index() const {
  const std::string path = path_of("index.csv");
  std::ofstream index(path);
  index << "name,file,load_as,category,n,nonzeros,source,license,sha256,comment\n";
  for (const auto& entry : entries_) {
    index << fmt::format("{},{},{},{},{},{},{},BSD-3-Clause,{},{}\n",
                         entry.name,
                         entry.file,
                         entry.load_as,
                         entry.category,
                         entry.order,
                         entry.nonzeros,
                         entry.source,
                         sha256(read_bytes(path_of(entry.file))),
                         entry.comment);
  }
  index.close();
  if (!index) throw FileError(path + ": cannot be written");
}

}  // namespace matapprox::generate
