#include "matapprox/attention_program.hpp"

#include "matapprox/core/error.hpp"

namespace matapprox::app {

bool is_attention_experiment(const std::string& name) { return name == "figure5"; }

void start_attention_program(const std::string& what) {
  throw NotAvailable(what + " works on one process: start it without mpirun");
}

}  // namespace matapprox::app
