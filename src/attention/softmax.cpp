#include "matapprox/attention/softmax.hpp"

#include "attention/instantiate.hpp"
#include "attention/tiled_softmax.hpp"
#include "matapprox/attention/multi_head.hpp"

namespace matapprox::attention {

void SoftmaxOptions::visit(OptionVisitor& v) {
  v.visit("residual_scores", residual_scores, "add the scores of the layers below (Realformer)");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options) {
  shape.validate("softmax", Probabilities::kFormed);
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<TiledSoftmaxCore<T>>(shape, std::make_unique<AllTiles>()),
      MultiHeadOptions{.output_projection = options.output_projection,
                       .residual_scores = options.residual_scores});
}

MATAPPROX_INSTANTIATE_MECHANISM(softmax, SoftmaxOptions);

}  // namespace matapprox::attention
