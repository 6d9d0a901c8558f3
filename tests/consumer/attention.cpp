#include <iostream>

#include "matapprox/matapprox.hpp"

int main() {
  using namespace matapprox::attention;
  ParameterList list;
  const auto layer =
      make_attention<float>("softmax", list, "layer", {.width = 16, .heads = 2, .length = 100});
  const auto parameters = list.initial_values<float>(1);
  std::vector<float> gradient(parameters.size());
  Workspace<float> workspace;
  Cache<float> cache;
  const LayerContext<float> context{
      .parameters = parameters.data(), .gradient = gradient.data(), .workspace = &workspace};
  const TokenMatrix<float> X = TokenMatrix<float>::Random(100, 16);
  TokenMatrix<float> Y(100, 16);
  TokenMatrix<float> dX(100, 16);
  layer->forward(context, X, Y, cache);
  layer->backward(context, X, Y, dX, cache);  // the gradient of |Y|^2 / 2
  std::cout << "|Y| = " << Y.norm() << ", |dX| = " << dX.norm() << '\n';
}
