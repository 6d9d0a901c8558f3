// matapprox-generate FOLDER: writes the matrices of matrices/ and their index.csv into an existing
// folder. The bytes are the same on every machine: all random numbers come from core/random, and
// all arithmetic is + - * / sqrt.
#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/sha256.hpp"
#include "matrices.hpp"

namespace {

using namespace matapprox;

/// Name, category, source and comment of a file.
struct About {
  std::string name;
  std::string category;
  std::string source;   ///< origin of the matrix
  std::string comment;  ///< uses for which it is good or bad
};

/// One row of index.csv.
struct Entry {
  About about;
  std::string file;
  std::string load_as;  ///< InputKind to load the file as
  Index order = 0;      ///< order N of the loaded matrix
  Index nonzeros = 0;   ///< number of its nonzero entries
};

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

/// Writes files into a folder and keeps the index of them.
class Catalog {
 public:
  explicit Catalog(std::string folder) : folder_(std::move(folder)) {}

  void add(const About& about, const SparseMatrix& A) {
    write_matrix_market(
        enter(about, ".mtx", "matrix", A.rows(), A.nonZeros()), A, equals_transpose(A));
  }
  void add(const About& about, const Matrix& A) {
    write_matrix_market(enter(about, ".mtx", "matrix", A.rows(), count_nonzeros(A)), A);
  }
  void add_image(const About& about, const Matrix& gray) {
    write_png(enter(about, ".png", "matrix", gray.rows(), count_nonzeros(gray)), gray);
  }
  /// Adds rows of a table, to be loaded as `load_as`. `order` is the order of the matrix that they
  /// define, which has no zero entry.
  void add_table(const About& about, const Matrix& rows, const std::string& load_as, Index order) {
    write_csv(enter(about, ".csv", load_as, order, order * order), rows);
  }
  /// Writes index.csv, with the SHA-256 of each file as stored.
  void write_index() const;

 private:
  /// Adds an entry. Returns the path of its file.
  std::string enter(const About& about,
                    const std::string& extension,
                    const std::string& load_as,
                    Index order,
                    Index nonzeros) {
    entries_.push_back({about, about.name + extension, load_as, order, nonzeros});
    return path_of(entries_.back().file);
  }
  std::string path_of(const std::string& file) const { return folder_ + "/" + file; }

  std::string folder_;
  std::vector<Entry> entries_;
};

void Catalog::write_index() const {
  const std::string path = path_of("index.csv");
  std::ofstream index(path);
  index << "name,file,load_as,category,n,nonzeros,source,license,sha256,comment\n";
  for (const auto& entry : entries_) {
    index << fmt::format("{},{},{},{},{},{},{},BSD-3-Clause,{},{}\n",
                         entry.about.name,
                         entry.file,
                         entry.load_as,
                         entry.about.category,
                         entry.order,
                         entry.nonzeros,
                         entry.about.source,
                         sha256(read_bytes(path_of(entry.file))),
                         entry.about.comment);
  }
  index.close();
  if (!index) throw FileError(path + ": cannot be written");
}

void add_meshes_and_graphs(Catalog& catalog) {
  catalog.add({"mesh2d",
               "mesh",
               "5-point Laplacian of an 18 x 20 grid",
               "good: chord; bad: low rank (singular values hardly fall)"},
              generate::mesh_laplacian(18, 20, 1));
  catalog.add({"mesh3d",
               "mesh",
               "7-point Laplacian of a 7 x 7 x 7 grid",
               "good: chord; bad: low rank (singular values hardly fall)"},
              generate::mesh_laplacian(7, 7, 7));
  catalog.add({"small_world",
               "graph",
               "Watts-Strogatz; 300 nodes of degree 6; rewiring 0.1",
               "good: chord (nearly banded); bad: low rank and Nystrom (indefinite)"},
              generate::small_world(300, 6, 0.1, 11));
  catalog.add({"scale_free",
               "graph",
               "Barabasi-Albert; 400 nodes; 3 links per new node",
               "a few hubs: CUR keeps their rows and columns sparse; the rest has no structure"},
              generate::scale_free(400, 3, 21));
  catalog.add({"block_model",
               "graph",
               "5 groups of 60 nodes; edges 0.25 within and 0.01 between",
               "five singular values stand out of noise that no method can compress"},
              generate::block_model(300, 5, 0.25, 0.01, 31));
}

void add_dense(Catalog& catalog) {
  catalog.add({"hilbert",
               "analytic",
               "1/(i+j-1)",
               "good: SVD; Nystrom; CUR (singular values fall geometrically)"},
              generate::hilbert(100));
  catalog.add({"parter",
               "analytic",
               "Toeplitz 1/(i-j+1/2); not symmetric",
               "bad: low rank (most singular values are close to pi); chord does better"},
              generate::parter(150));
  catalog.add({"dct",
               "analytic",
               "orthogonal discrete cosine transform DCT-II",
               "bad: low rank (all singular values are 1); fast transforms exist"},
              generate::discrete_cosine_transform(128));
  catalog.add({"permutation",
               "analytic",
               "random permutation of 250",
               "bad: everything but sparse storage (all singular values are 1; no structure)"},
              generate::permutation(250, 41));
}

void add_statistics(Catalog& catalog) {
  catalog.add({"ar1",
               "covariance",
               "AR(1) process; correlation 0.95",
               "singular values fall like 1/k^2: low rank gets better slowly"},
              generate::ar1_covariance(150, 0.95));
  const Matrix loadings = generate::factor_loadings(150, 5, 51);
  catalog.add({"factor_model",
               "covariance",
               "5 common factors and own variances of 150 variables",
               "good: low rank (five strong directions above a nearly flat rest)"},
              generate::factor_covariance(loadings, 61));
  catalog.add_table({"samples",
                     "covariance",
                     "400 draws of the model of factor_model",
                     "for --as covariance and --as correlation"},
                    generate::factor_samples(loadings, 400, 61),
                    "covariance",
                    loadings.rows());
  const Matrix points = generate::clustered_points(400, 4, 8, 71);
  catalog.add_table({"clusters",
                     "kernel",
                     "400 points in 4 dimensions around 8 centers",
                     "for --as kernel; good: Nystrom with landmarks that find every cluster"},
                    points,
                    "kernel",
                    points.rows());
  catalog.add({"gaussian_kernel",
               "kernel",
               "Gaussian kernel of the first 150 points; bandwidth 2",
               "positive semidefinite; singular values fall slowly at this bandwidth"},
              generate::gaussian_kernel(points.topRows(150), 2));
}

void add_images(Catalog& catalog) {
  catalog.add_image({"chessboard",
                     "image",
                     "8 x 8 squares",
                     "rank 2: SVD; Nystrom and CUR are exact; chord is not"},
                    generate::chessboard(256, 8));
  catalog.add_image({"scene",
                     "image",
                     "rendered: sharp edges; shading; bricks; rough grass",
                     "good: SVD; slow decay after the first few singular values"},
                    generate::scene(256, 81));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: matapprox-generate FOLDER\n";
    return 2;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a failed write
  try {
    Catalog catalog(arguments[1]);
    add_meshes_and_graphs(catalog);
    add_dense(catalog);
    add_statistics(catalog);
    add_images(catalog);
    catalog.write_index();
  } catch (const std::exception& error) {
    std::cerr << "matapprox-generate: " << error.what() << '\n';
    return 3;
  }
}
