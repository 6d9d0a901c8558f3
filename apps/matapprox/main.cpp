#include <malloc.h>

#include <string>
#include <vector>

#include "attention_program.hpp"
#include "command_line/command_line.hpp"
#include "command_line/invocation.hpp"
#include "command_line/process.hpp"
#include "command_line/sandbox.hpp"
#include "commands.hpp"
#include "matapprox/kernels/blas.hpp"
#include "report/build_info.hpp"

int main(int argc, char** argv) {
  using namespace matapprox;
  return app::run_process(argv, [&] {
    // Blocks of columns come and go all the time: freed memory is kept, as giving it back and
    // taking it again costs a page fault for every 4 kB.
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 29);
    app::keep_invocation(argc, argv);
    app::CommandLine line(
        "matapprox",
        "Replaces a large matrix with something small and measures how good the replacement is.",
        version());
    const app::Command program = line.program();
    program.footer(
        "Examples:\n  matapprox compare matrices/mesh2d.mtx\n  matapprox compare --help");
    app::add_best(program);
    app::add_compare(program);
    app::add_approximate(program);
    app::add_sketch(program);
    app::add_measure(program);
    app::add_apply(program);
    app::add_solve(program);
    app::add_export(program);
    app::add_spectrum(program);
    app::add_info(program);
    app::add_methods(program);
    app::add_reproduce(program);
    program.add_command("attention", "Trains attention models and inspects them");
    app::add_jl_dimension(program);
    app::add_doctor(program);
    // `attention` is here for --help alone: another program parses what comes after it.
    const std::string command = line.named_command(argc, argv);
    if (command == "attention") app::start_attention_program("attention");
    // The same for the experiments that train models, named right after `reproduce`.
    const std::vector<std::string>& words = app::arguments();
    if (command == "reproduce" && words.size() > 1 && app::is_attention_experiment(words[1]))
      app::start_attention_program("reproduce " + words[1]);
    configure_blas();
    app::read_in_sandbox();
    return line.run(argc, argv);
  });
}
