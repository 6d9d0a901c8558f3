#include "matapprox/core/error.hpp"
#include "matapprox/other_programs.hpp"

namespace matapprox::app {

void start_attention_program(const std::string& what) {
  throw NotAvailable(what + " runs on one process: start it without mpirun");
}

}  // namespace matapprox::app
