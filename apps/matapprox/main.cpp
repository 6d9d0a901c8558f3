#include "commands.hpp"
#include "other_programs.hpp"

int main(int argc, char** argv) {
  matapprox::app::start_on_all_processes(argv);
  return matapprox::app::run_program(argc, argv);
}
