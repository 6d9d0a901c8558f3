#include "report/json.hpp"

#include <cmath>

#include "matapprox/core/visible_text.hpp"
#include "report/build_info.hpp"

namespace matapprox::report {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json interval_or_null(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({interval->first, interval->second}) : Json(nullptr);
}

Json certificate_or_null(const std::optional<Certificate>& certificate) {
  if (!certificate) return nullptr;
  const auto value = [](const std::optional<CertifiedBound>& bound) {
    return bound ? Json(bound->value) : Json(nullptr);
  };
  const auto confidence = [](const std::optional<CertifiedBound>& bound) {
    return bound ? Json(bound->confidence) : Json(nullptr);
  };
  return {{"norm", enum_name(certificate->norm)},
          {"frobenius", value(certificate->frobenius)},
          {"frobenius_confidence", confidence(certificate->frobenius)},
          {"spectral", value(certificate->spectral)},
          {"spectral_confidence", confidence(certificate->spectral)},
          {"relative", or_null(certificate->relative)},
          {"rounding", certificate->rounding},
          {"products", certificate->products},
          {"passes", certificate->passes}};
}

void add_measurement(Json& json, const Measurement& measured) {
  json["error_frobenius"] = number_or_null(measured.error_frobenius);
  json["relative_error"] = or_null(measured.relative_error);
  json["error_is_exact"] = measured.error_is_exact;
  json["error_interval"] = interval_or_null(measured.error_interval);
  json["error_basis"] = enum_name(measured.error_basis);
  json["error_samples"] = measured.error_samples;
  json["spectral_error_lower"] = or_null(measured.spectral_error_lower);
  json["certificate"] = certificate_or_null(measured.certificate);
}

/// The same document with the bytes of texts and keys that are not UTF-8 escaped.
Json with_legal_texts(const Json& json) {
  if (json.is_string()) return legal_utf8(json.get_ref<const std::string&>());
  Json result = json;
  if (json.is_array()) {
    for (Json& element : result) element = with_legal_texts(element);
  } else if (json.is_object()) {
    result = Json::object();
    for (const auto& [key, value] : json.items()) result[legal_utf8(key)] = with_legal_texts(value);
  }
  return result;
}

}  // namespace

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string to_text(const Json& json) {
  try {
    return json.dump(2) + "\n";
  } catch (const Json::type_error&) {  // file names may contain any bytes
    return with_legal_texts(json).dump(2) + "\n";
  }
}

Json document_head(std::uint64_t seed, int threads) {
  return {{"schema_version", kSchemaVersion},
          {"version", version()},
          {"machine", machine_description()},
          {"seed", seed},
          {"threads", threads}};
}

Json to_json(const MatrixFacts& facts, const std::string& path) {
  return {{"path", path},
          {"rows", facts.rows},
          {"cols", facts.cols},
          {"nonzeros", or_null(facts.nonzeros)},
          {"symmetric", facts.symmetric},
          {"averaged_asymmetry", facts.averaged_asymmetry},
          {"frobenius_norm", number_or_null(facts.frobenius_norm)},
          {"frobenius_norm_is_exact", facts.norm_is_exact},
          {"frobenius_norm_interval", interval_or_null(facts.norm_interval)}};
}

Json to_json(const ComparisonRow& row) {
  Json json = {{"method", row.method}, {"status", row.status}, {"options", Json::object()}};
  for (const auto& [name, value] : row.options) json["options"][name] = value;
  json["form"] = row.form.empty() ? Json(nullptr) : Json(row.form);
  json["rank"] = or_null(row.rank);
  json["stored_numbers"] = row.storage ? Json(row.storage->numbers) : Json(nullptr);
  json["stored_bytes"] = row.storage ? Json(row.storage->bytes) : Json(nullptr);
  json["storage_share"] = or_null(row.storage_share);
  json["storage_precision"] = row.storage_precision;
  if (row.measurement) {
    add_measurement(json, *row.measurement);
  } else {
    for (const char* key : {"error_frobenius",
                            "relative_error",
                            "error_is_exact",
                            "error_interval",
                            "error_basis",
                            "error_samples",
                            "spectral_error_lower",
                            "certificate"}) {
      json[key] = nullptr;
    }
  }
  json["fit_seconds"] = or_null(row.fit_seconds);
  json["apply_seconds_1"] =
      row.measurement ? or_null(row.measurement->apply_seconds_1) : Json(nullptr);
  json["apply_seconds_64"] =
      row.measurement ? or_null(row.measurement->apply_seconds_64) : Json(nullptr);
  json["passes"] = or_null(row.passes);
  json["peak_memory_bytes"] = or_null(row.peak_memory_bytes);
  json["termination"] = row.termination ? Json(enum_name(*row.termination)) : Json(nullptr);
  json["interrupted"] = row.interrupted;
  json["worse_than_zero"] =
      row.measurement ? Json(row.measurement->worse_than_zero) : Json(nullptr);
  json["no_compression"] = row.storage_share ? Json(row.no_compression()) : Json(nullptr);
  json["message"] = row.message;
  json["saved_to"] = or_null(row.saved_to);
  return json;
}

Json to_json(const Comparison& comparison) {
  Json json = document_head(comparison.seed, comparison.threads);
  json["matrix"] = to_json(comparison.facts, comparison.path);
  json["matrix"]["description"] = comparison.description;
  json["basis"] = comparison.basis;
  json["results"] = Json::array();
  for (const ComparisonRow& row : comparison.rows) json["results"].push_back(to_json(row));
  return json;
}

}  // namespace matapprox::report
