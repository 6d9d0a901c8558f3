#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// One row of index.csv.
struct Entry {
  std::string name;
  std::string file;
  std::string load_as;  ///< InputKind to load the file as
  std::string category;
  Index order = 0;      ///< order N of the loaded matrix
  Index nonzeros = 0;   ///< number of its nonzero entries
  std::string source;   ///< origin of the matrix
  std::string comment;  ///< uses for which it is good or bad
};

/// Name, category, source and comment of a file.
struct About {
  std::string name;
  std::string category;
  std::string source;
  std::string comment;
};

/// Writes files into a folder and keeps the index of them.
class Catalog {
 public:
  explicit Catalog(std::string folder) : folder_(std::move(folder)) {}

  void add(const About& about, const SparseMatrix& A);
  void add(const About& about, const Matrix& A);
  void add_image(const About& about, const Matrix& gray);
  /// Adds rows of a table, to be loaded as `load_as`. `order` is the order of the matrix that they
  /// define, which has no zero entry.
  void add_table(const About& about, const Matrix& rows, const std::string& load_as, Index order);
  /// Writes index.csv, with the SHA-256 of each file as stored.
  void write_index() const;

 private:
  void enter(const About& about,
             const std::string& extension,
             const std::string& load_as,
             Index order,
             Index nonzeros);
  std::string path_of(const std::string& file) const { return folder_ + "/" + file; }

  std::string folder_;
  std::vector<Entry> entries_;
};

}  // namespace matapprox::generate
