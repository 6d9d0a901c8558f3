#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace matapprox::app {

/// Experiments of the program matapprox-attention: `reproduce figure5`.
constexpr std::array<std::string_view, 9> kAttentionExperiments{"figure5",
                                                                "genome",
                                                                "lra",
                                                                "crossovers",
                                                                "singularformer",
                                                                "linformer_grid",
                                                                "depth",
                                                                "blocks",
                                                                "transfer"};

inline bool is_attention_experiment(std::string_view name) {
  return std::find(kAttentionExperiments.begin(), kAttentionExperiments.end(), name) !=
         kAttentionExperiments.end();
}

/// If an MPI launcher started several processes, replaces each with the program matapprox-mpi, with
/// the same arguments; on one process does nothing. If that program is missing, rank 0 reports it,
/// and all processes end with the exit code of "not available".
void start_on_all_processes(char** argv);

/// Replaces this process with the program matapprox-attention, with the same arguments; process id,
/// streams and signals stay. The program is searched for beside this one and then where it is
/// installed. Throws NotAvailable, with a message that starts with `what`, if there is none.
[[noreturn]] void start_attention_program(const std::string& what);

}  // namespace matapprox::app
