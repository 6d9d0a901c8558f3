#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/core/resume_state.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi::test {

/// The leader of the processes that run these tests: the first runs them, the others serve.
const std::shared_ptr<Leader>& leader();
int processes();

/// Blocks with as many rows as a layout has lie as it says.
std::shared_ptr<const RanksSpace> space_of(const std::vector<Layout>& layouts = {});
/// All rows on the last process, so that the others have none.
Layout all_on_the_last(Index rows);

/// What the processes of these tests open matrices in files by.
std::shared_ptr<const LinearOperator> open_file(const std::string& name);

/// Whether an array of a state that is handed out lies over the processes.
bool lies_over_processes(const ResumeState& state, const std::string& name);

}  // namespace matapprox::mpi::test
