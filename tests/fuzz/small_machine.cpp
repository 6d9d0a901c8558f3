// The machine of the fuzzed parsers: one thread and 16 MB, so that requesting more memory than the
// input justifies shows up as NotAvailable or as the fuzzer's memory limit.
#include <functional>
#include <string>

#include "attention/tasks/import/text_tokens.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {

Index available_memory_bytes() { return Index{16} << 20; }

void require_memory(double bytes, const std::string& what) {
  if (bytes > static_cast<double>(available_memory_bytes()))
    throw NotAvailable(what + ": too large");
}

int threads() { return 1; }

void parallel_for(Index count, const std::function<void(Index)>& body) {
  for (Index i = 0; i < count; ++i) body(i);
}

/// Vocabularies are read from files; here the parsers get theirs directly.
tasks::TextTokenizer tasks::text_tokenizer(const ImportOptions& /*options*/, bool separator) {
  return TextTokenizer(separator);
}

}  // namespace matapprox
