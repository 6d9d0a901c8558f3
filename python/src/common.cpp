#include "common.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "matapprox/core/error.hpp"

namespace matapprox::python {
namespace {

/// Raises `matapprox.<name>` (python/matapprox/_errors.py) with this message.
void raise(const char* name, const char* message) {
  const nb::object type = nb::module_::import_("matapprox._errors").attr(name);
  PyErr_SetString(type.ptr(), message);
}

void translate(const std::exception_ptr& failure, void* /*payload*/) {
  try {
    std::rethrow_exception(failure);
  } catch (const BudgetTooSmall& error) {
    const nb::object type = nb::module_::import_("matapprox._errors").attr("BudgetTooSmall");
    PyErr_SetObject(type.ptr(), type(error.what(), error.least_bytes()).ptr());
  } catch (const InvalidArgument& error) {
    raise("InvalidArgument", error.what());
  } catch (const FileError& error) {
    raise("FileError", error.what());
  } catch (const NumericalError& error) {
    raise("NumericalError", error.what());
  } catch (const NotAvailable& error) {
    raise("NotAvailable", error.what());
  } catch (const Interrupted& error) {
    raise("Interrupted", error.what());
  } catch (const Error& error) {
    raise("Error", error.what());
  }
}

}  // namespace

void register_errors() { nb::register_exception_translator(translate); }

nb::list option_tuples(const std::vector<OptionText>& options) {
  nb::list result;
  for (const OptionText& option : options) {
    const std::string_view type = enum_name(option.type);
    result.append(nb::make_tuple(
        option.name, nb::str(type.data(), type.size()), option.value, option.choices, option.help));
  }
  return result;
}

}  // namespace matapprox::python
