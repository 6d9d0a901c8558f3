#pragma once

#include <string>
#include <string_view>

namespace matapprox::app {

/// Keeps the command line for reports; called once by main.
void keep_invocation(int argc, const char* const* argv);

/// The command line as one would type it into a shell: "matapprox compare 'my file.mtx'".
std::string invocation();

/// A word as a shell reads it back, quoted where that is needed.
std::string shell_word(std::string_view word);

}  // namespace matapprox::app
