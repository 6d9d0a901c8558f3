#include "device/cuda/card_operator.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/device/placement.hpp"

// Built in place of device/cuda where CUDA is left out.
namespace matapprox {

std::string why_no_card() {
  return "this build has no CUDA; install the CUDA toolkit and configure it with "
         "-DMATAPPROX_WITH_CUDA=ON";
}

CardInfo card_info() { throw NotAvailable("cuda: " + why_no_card()); }

double card_copy_bandwidth() { throw NotAvailable("cuda: " + why_no_card()); }

namespace cuda {

std::unique_ptr<CardOperator> make_card_operator(const std::vector<ChainLink>& /*links*/,
                                                 bool /*symmetrized*/) {
  throw NotAvailable("cuda: " + why_no_card());
}

}  // namespace cuda
}  // namespace matapprox
