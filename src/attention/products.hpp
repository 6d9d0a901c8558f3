#pragma once

#include "matapprox/attention/tokens.hpp"

namespace matapprox::attention {

/// C = alpha A B, plus C if `add`, computed by the toolkit's own kernel.
template <class T>
void multiply(const ConstTokens<T>& A,
              const ConstTokens<T>& B,
              Tokens<T> C,
              double alpha = 1,
              bool add = false);
/// C = alpha A^T B (+ C)
template <class T>
void multiply_transposed(const ConstTokens<T>& A,
                         const ConstTokens<T>& B,
                         Tokens<T> C,
                         double alpha = 1,
                         bool add = false);
/// C = alpha A B^T (+ C)
template <class T>
void multiply_by_transpose(const ConstTokens<T>& A,
                           const ConstTokens<T>& B,
                           Tokens<T> C,
                           double alpha = 1,
                           bool add = false);

}  // namespace matapprox::attention
