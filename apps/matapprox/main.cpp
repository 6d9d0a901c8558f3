#include <malloc.h>

#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "commands.hpp"
#include "exit_codes.hpp"
#include "invocation.hpp"
#include "kernels/lapack.hpp"
#include "matapprox/report/build_info.hpp"

int main(int argc, char** argv) {
  using namespace matapprox;
  try {
    // Blocks of columns come and go all the time: freed memory is kept, as giving it back and taking
    // it again costs a page fault for every 4 kB.
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 29);
    kernels::configure_blas();
    CLI::App app(
        "Replaces a large matrix by something small and measures how good the replacement is.",
        "matapprox");
    app.set_version_flag("--version", version());
    app.require_subcommand(1);
    app.footer("Examples:\n  matapprox compare matrices/mesh2d.mtx\n  matapprox compare --help");
    app::keep_invocation(argc, argv);
    app::Action action;
    app::add_compare(app, action);
    app::add_approximate(app, action);
    app::add_measure(app, action);
    app::add_apply(app, action);
    app::add_export(app, action);
    app::add_info(app, action);
    app::add_methods(app, action);
    app::add_reproduce(app, action);
    app::add_attention(app, action);
    app::add_doctor(app, action);
    if (const auto code = app::parse_command_line(app, argc, argv)) return *code;
    return action();
  } catch (...) {
    return app::report_exception(std::current_exception());
  }
}
