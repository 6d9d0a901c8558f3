#include "matapprox/attention_program.hpp"

#include "matapprox/core/error.hpp"

namespace matapprox::app {

void start_attention_program(const std::string& what) {
  throw NotAvailable(what + " runs on one process: start it without mpirun");
}

}  // namespace matapprox::app
