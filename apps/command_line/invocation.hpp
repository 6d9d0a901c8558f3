#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace matapprox::app {

/// Stores the command line for the functions below; called once by main.
void keep_invocation(int argc, const char* const* argv);

/// The arguments after the program's name.
const std::vector<std::string>& arguments();

/// The command line as typed into a shell: "matapprox compare 'my file.mtx'".
std::string invocation();

/// A word as a shell reads it back, quoted if necessary.
std::string shell_word(std::string_view word);

}  // namespace matapprox::app
