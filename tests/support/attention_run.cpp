#include "support/attention_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"

namespace matapprox::test {

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

ProgramResult run_attention(const Arguments& arguments) {
  return run_program(Arguments{"attention"} + arguments);
}

const Arguments kSmallRun{"train",
                          "--task",
                          "adding",
                          "--length",
                          "16",
                          "--block",
                          "bare",
                          "--value-width",
                          "8",
                          "--pool",
                          "flatten",
                          "--evaluation-samples",
                          "200",
                          "--test-samples",
                          "200"};

Arguments small_run(const std::string& output, const Arguments& more) {
  return kSmallRun + Arguments{"--steps", "100", "--evaluate-every", "20", "-o", output} + more;
}

std::string parameters_of(const std::string& model) {
  const std::string path = model + ".safetensors";
  const ProgramResult written = run_attention({"weights", model, "-o", path, "--force"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  return read_file(path);
}

void expect_refusal(const ProgramResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::HasSubstr(text));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("internal error")));
}

std::string tiny_token_file() {
  const std::string folder = temporary_dir();
  std::string text = "\"1\",\"Title\",\"some text\"\n\"2\",\"Other\",\"text\"\n";
  write_file(folder + "/train.csv", text + text + text);
  write_file(folder + "/test.csv", text);
  const ProgramResult made =
      run_attention({"data", "import", "ag_news", folder, "-o", folder + "/tokens.h5"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out,
              testing::HasSubstr("8 sequences of up to 15 tokens, 256 token ids, 4 classes"));
  return folder + "/tokens.h5";
}

}  // namespace matapprox::test
