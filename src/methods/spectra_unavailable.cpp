#include "matapprox/core/error.hpp"
#include "methods/spectra.hpp"

// Compiled instead of spectra.cpp in a build without Spectra.
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
