#include <sys/resource.h>

#include <memory>
#include <string>

#include "command_line/invocation.hpp"
#include "matapprox/commands.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/mpi/program.hpp"

namespace {

/// Throws if the address space is limited: a block over all ranks takes addresses for its whole
/// size on rank 0.
void require_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    throw matapprox::NotAvailable(
        "several processes need an unlimited address space: set `ulimit -v unlimited`");
  }
}

/// HDF5 datasets of more than 256 MB, of which each rank reads its own rows.
matapprox::mpi::SharedFiles hdf5_datasets() {
  constexpr matapprox::Index kReadByOne = matapprox::Index{256} << 20;
  static constexpr matapprox::Index kPanelBytes = matapprox::Index{256} << 20;
  static constexpr char kSeparator = '\0';
  return {.leave = [] { matapprox::leave_datasets_in_files(kReadByOne); },
          .find = [](const matapprox::LinearOperator& A) -> matapprox::mpi::SharedMatrix {
            const auto* matrix = dynamic_cast<const matapprox::Hdf5Operator*>(&A);
            if (matrix == nullptr) return {};
            return {std::string(matrix->allows_external() ? "x" : "-") + matrix->path() +
                        kSeparator + matrix->dataset(),
                    matrix->unit_rows()};
          },
          .open = [](const std::string& name) -> std::shared_ptr<const matapprox::LinearOperator> {
            const std::size_t end = name.find(kSeparator);
            return std::make_shared<const matapprox::Hdf5Operator>(
                name.substr(1, end - 1), name.substr(end + 1), kPanelBytes, name[0] == 'x');
          }};
}

}  // namespace

int main(int argc, char** argv) {
  return matapprox::mpi::run_program(
      argc,
      argv,
      [&] {
        try {
          require_addresses();
        } catch (...) {
          return matapprox::app::report_exception(std::current_exception());
        }
        return matapprox::app::run_program(argc, argv);
      },
      hdf5_datasets());
}
