#pragma once

#include <string>
#include <vector>

#include "support/program_run.hpp"

namespace matapprox::test {

Arguments operator+(Arguments first, const Arguments& second);

/// Runs `matapprox attention` with these arguments.
ProgramResult run_attention(const Arguments& arguments);

/// Options of `train` for a model of a few thousand numbers that learns `adding` in a hundred
/// steps.
extern const Arguments kSmallRun;
/// The same options with a hundred steps and an output file.
Arguments small_run(const std::string& output, const Arguments& more = {});

/// The parameters of a saved model, as bytes.
std::string parameters_of(const std::string& model);

/// Fails the test unless the program refused with this exit code and a message with `text`.
void expect_refusal(const ProgramResult& result, int exit_code, const std::string& text);

/// A minimal token file: two classes, three texts each.
std::string tiny_token_file();

}  // namespace matapprox::test
