#include "support/paper_folder.hpp"

#include <filesystem>

#include "matapprox/io/image_file.hpp"
#include "matapprox/io/mat_file.hpp"
#include "matapprox/io/matrix_market.hpp"
#include "matapprox/operators/image.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;

/// Gray values of a bright disc on a linear slope.
Matrix image() {
  Matrix values(24, 24);
  for (Index i = 0; i < 24; ++i) {
    for (Index j = 0; j < 24; ++j) {
      const bool inside = (i - 12) * (i - 12) + (j - 9) * (j - 9) < 40;
      values(i, j) = inside ? 240 : static_cast<double>(3 * i + 2 * j);
    }
  }
  return values;
}

}  // namespace

std::string paper_folder() {
  const fs::path folder = temporary_dir();
  for (const char* category : {"network", "covariance_matrix", "image", "gradient_image"})
    fs::create_directory(folder / category);
  write_matrix_market((folder / "network" / "Sawmill.mtx").string(), grid_laplacian(7), true);
  write_matrix_market((folder / "network" / "strike.mtx").string(), grid_laplacian(3), true);
  write_mat((folder / "covariance_matrix" / "votes.mat").string(),
            {{"A", with_eigenvalues(geometric_spectrum(16, 2))}});
  write_png((folder / "image" / "ship.png").string(), image());
  write_png((folder / "gradient_image" / "chess.png").string(), clipped_laplacian(image()));
  return folder.string();
}

}  // namespace matapprox::test
