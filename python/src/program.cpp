// The command line program as a function of the module.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "matapprox/commands.hpp"
#include "python.hpp"

namespace matapprox::python {

void bind_program(nb::module_& m) {
  m.def(
      "run_program",
      [](std::vector<std::string> words) {
        std::vector<char*> argv;
        argv.reserve(words.size() + 1);
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        return app::run_program(static_cast<int>(words.size()), argv.data());
      },
      nb::arg("words"),
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace matapprox::python
