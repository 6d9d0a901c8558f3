#include "attention/cases.hpp"

namespace matapprox::test {

std::vector<AttentionCase> attention_cases() {
  return {
      {"Softmax", "softmax"},
      {"SoftmaxOneHead", "softmax", {{"output_projection", "false"}}, 1},
      {"SoftmaxCausal", "softmax", {}, 2, true},
      {"SoftmaxResidualScores", "softmax", {{"residual_scores", "true"}}},
      {"Psf", "psf", {}, 1},
      {"PsfNarrow", "psf", {{"value_width", "3"}, {"hidden", "5"}, {"residual", "false"}}, 1},
      {"PsfTorchUnitRow", "psf", {{"pattern", "torch"}, {"start", "unit_row"}}, 1},
      {"PsfPaperIdentity", "psf", {{"pattern", "paper"}, {"start", "identity"}}, 1},
      {"Linformer", "linformer", {{"rank", "5"}}},
      {"LinformerHeadTied", "linformer", {{"rank", "5"}, {"scope", "head"}, {"tied", "true"}}},
      {"LinformerModel", "linformer", {{"rank", "3"}, {"scope", "model"}}},
      {"Singularformer", "singularformer"},
      {"SingularformerOneHead", "singularformer", {{"rank", "5"}}, 1},
      {"SingularformerUnshared",
       "singularformer",
       {{"rank", "5"}, {"shared_mixtures", "false"}, {"scaled", "false"}}},
      {"RevisitedLinformer", "revisited_linformer", {{"rank", "5"}}},
      {"RevisitedLinformerPrinted", "revisited_linformer", {{"rank", "5"}, {"axes", "as_printed"}}},
      {"RevisitedLinformerJl",
       "revisited_linformer",
       {{"rank", "5"}, {"projection", "jl"}, {"delta", "0.5"}}},
      {"Efficient", "efficient"},
      {"EfficientScaled", "efficient", {{"scaled", "true"}}},
      {"Simpletron", "simpletron"},
      {"SimpletronInverseLength",
       "simpletron",
       {{"scale", "inv_n"}, {"output_projection", "true"}}},
      {"SimpletronCausal", "simpletron", {{"scale", "none"}}, 2, true},
      {"LinearTransformer", "linear_transformer"},
      {"LinearTransformerCausal", "linear_transformer", {}, 2, true},
      {"Performer", "performer"},
      {"PerformerOneHead", "performer", {{"features", "20"}}, 1},
      {"Nystromformer", "nystromformer", {{"landmarks", "4"}, {"convolution", "5"}}},
      {"NystromformerPlain", "nystromformer", {{"landmarks", "5"}, {"convolution", "0"}}},
      {"BigBird", "bigbird", {{"block", "3"}, {"random_blocks", "2"}}},
      {"BigBirdCausal", "bigbird", {{"block", "4"}, {"random_blocks", "1"}}, 2, true},
      {"Flash", "flash", {{"chunk", "5"}, {"value_width", "6"}, {"query_width", "4"}}, 1},
      {"FlashLaplaceCausal", "flash", {{"chunk", "5"}, {"activation", "laplace"}}, 1, true},
      {"FlashWhole", "flash", {{"chunk", "0"}}, 1},
      {"FlashWholeCausal", "flash", {{"chunk", "0"}, {"activation", "laplace"}}, 1, true},
      {"Tokenwise", "tokenwise"},
      {"Mean", "mean"},
      {"MeanCausal", "mean", {}, 2, true},
  };
}

}  // namespace matapprox::test
