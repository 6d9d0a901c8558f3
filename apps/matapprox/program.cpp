#include <malloc.h>

#include <string>
#include <vector>

#include "command_line/invocation.hpp"
#include "command_line/process.hpp"
#include "command_line/sandbox.hpp"
#include "commands.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "other_programs.hpp"
#include "report/build_info.hpp"

namespace matapprox::app {

int run_program(int argc, char** argv) {
  return run_process([&] {
    // Blocks of columns are allocated and freed all the time. Freed memory is kept, because
    // returning and reclaiming it costs a page fault for every 4 kB. Memory of the size of a whole
    // matrix is returned: holes of that size would add to the next matrix of another size.
    mallopt(M_MMAP_THRESHOLD, 1 << 27);
    mallopt(M_TRIM_THRESHOLD, 1 << 29);
    keep_invocation(argc, argv);
    CommandLine line("matapprox",
                     "Replaces a large matrix by a small approximation and measures its error.",
                     version());
    const Command program = line.program();
    program.footer(
        "Examples:\n  matapprox compare matrices/mesh2d.mtx\n  matapprox compare --help");
    add_best(program);
    add_compare(program);
    add_approximate(program);
    add_sketch(program);
    add_measure(program);
    add_apply(program);
    add_solve(program);
    add_export(program);
    add_spectrum(program);
    add_info(program);
    add_methods(program);
    add_reproduce(program);
    program.add_command("attention", "Trains and inspects attention models");
    add_jl_dimension(program);
    add_doctor(program);
    // `attention` is listed here for --help only: another program parses its arguments.
    const std::string command = line.named_command(argc, argv);
    if (command == "attention") start_attention_program("attention");
    // The same holds for the experiments that train models, named right after `reproduce`.
    const std::vector<std::string>& words = arguments();
    if (command == "reproduce" && words.size() > 1 && is_attention_experiment(words[1]))
      start_attention_program("reproduce " + words[1]);
    configure_blas();
    read_in_sandbox();
    return line.run(argc, argv);
  });
}

}  // namespace matapprox::app
