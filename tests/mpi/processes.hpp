#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/core/resume_state.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi::test {

/// The leader of the processes of these tests: the first process runs the tests, the others serve.
const std::shared_ptr<Leader>& leader();
int processes();

/// Space that distributes each block by the layout with the same number of rows.
std::shared_ptr<const RanksSpace> space_of(const std::vector<Layout>& layouts = {});
/// All rows on the last process; the others have none.
Layout all_on_the_last(Index rows);

/// Opens a matrix in a file on the processes of these tests.
std::shared_ptr<const LinearOperator> open_file(const std::string& name);

/// True if an array of a returned state is distributed over the processes.
bool lies_over_processes(const ResumeState& state, const std::string& name);

}  // namespace matapprox::mpi::test
