#pragma once

namespace matapprox::test {

/// True with the address or the thread sanitizer, which uses unlimited address space and has an
/// allocator of its own.
constexpr bool kSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    true;
#else
    false;
#endif
#else
    false;
#endif

/// Number of trials that a test makes of `all`: a quarter under a sanitizer, where each takes ten
/// times as long.
constexpr int trials(int all) { return kSanitized ? all / 4 : all; }

}  // namespace matapprox::test
