#include "matapprox/core/error.hpp"
#include "methods/spectra.hpp"

// Built in place of spectra.cpp where Spectra is left out.
namespace matapprox {

SpectraEigenpairs spectra_eigenpairs(const SymmetricProduct& /*A*/,
                                     Index /*count*/,
                                     SpectrumEnd /*end*/,
                                     double /*tolerance*/,
                                     std::uint64_t /*seed*/,
                                     const char* method,
                                     const RunControl& /*control*/) {
  throw NotAvailable(std::string(method) +
                     ": this build has no Spectra; configure it with MATAPPROX_WITH_SPECTRA=ON");
}

bool spectra_is_available() { return false; }

std::string spectra_version() { return {}; }

}  // namespace matapprox
