// For a program that is shipped without matapprox-attention: that of the Python package.
#include "matapprox/core/error.hpp"
#include "other_programs.hpp"

namespace matapprox::app {

void start_attention_program(const std::string& what) {
  throw NotAvailable(what +
                     " needs the program matapprox-attention, which is not part of the Python "
                     "package; it comes with a build from source and with the Debian package");
}

}  // namespace matapprox::app
