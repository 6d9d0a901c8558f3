#pragma once

#include <memory>

#include "device/cuda/card_blocks.hpp"
#include "matapprox/core/tall_block.hpp"

namespace matapprox {

/// The memory of a card as a place for blocks.
std::shared_ptr<const BlockPlace> make_card_place(std::shared_ptr<const cuda::CardBlocks> blocks);

}  // namespace matapprox
