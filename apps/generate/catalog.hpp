#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// What index.csv says about one file.
struct Entry {
  std::string name;
  std::string file;
  std::string load_as;  ///< the InputKind to load it as
  std::string category;
  Index order = 0;      ///< N of the loaded matrix
  Index nonzeros = 0;   ///< its entries that are not 0
  std::string source;   ///< how it was made
  std::string comment;  ///< what it is good or bad for
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
  /// Rows of a table, to be loaded as `load_as`; `order` is that of the matrix so defined, which
  /// has no zero entry.
  void add_table(const About& about, const Matrix& rows, const std::string& load_as, Index order);
  /// index.csv, with the SHA-256 of each file as it lies there.
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
