// matapprox-generate FOLDER: writes the matrices of matrices/ and their index.csv into an existing
// folder. The bytes are the same on every machine: all random numbers come from core/random, and
// all arithmetic is + - * / sqrt.
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "catalog.hpp"
#include "matrices.hpp"

namespace {

using matapprox::Matrix;
namespace generate = matapprox::generate;

void add_meshes_and_graphs(generate::Catalog& catalog) {
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

void add_dense(generate::Catalog& catalog) {
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

void add_statistics(generate::Catalog& catalog) {
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

void add_images(generate::Catalog& catalog) {
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
    generate::Catalog catalog(arguments[1]);
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
