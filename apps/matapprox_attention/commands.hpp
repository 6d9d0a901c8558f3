#pragma once

#include "command_line/command_line.hpp"

namespace matapprox::app {

/// Adds `info` for a saved model.
void add_model_info(const Command& program);
/// Adds `reproduce` with the experiments that train models.
void add_attention_experiments(const Command& program);

// Each adds one command of `attention`.
void add_attention_train(const Command& attention);
void add_attention_cross_validate(const Command& attention);
void add_attention_evaluate(const Command& attention);
void add_attention_map(const Command& attention);
void add_attention_rows(const Command& attention);
void add_attention_spectrum(const Command& attention);
void add_attention_projection(const Command& attention);
void add_attention_data(const Command& attention);
void add_attention_bench(const Command& attention);
void add_attention_weights(const Command& attention);
void add_attention_list(const Command& attention);

}  // namespace matapprox::app
