#pragma once

#include <span>
#include <string>
#include <vector>

#include "matapprox/training/model_file.hpp"
#include "matapprox/training/name_map.hpp"

namespace matapprox::training {

/// Writes the best parameters of a model as a safetensors file for other programs, each as F32 rows
/// x cols under its name, with task, model, options and seed as metadata. Throws FileError.
void save_weights(const std::string& path, const SavedModel& saved);

/// Copies into `values` (the block of all parameters of `list`) every parameter that the file has
/// under the same name and size, and returns the names. The file is from save_model or any
/// safetensors file: numbers of other types are rounded to float, and n numbers of one dimension
/// count as 1 x n.
///
/// This transfers queries, keys and values from a SimpleTRON model to one with softmax attention
/// [SimpleTRON, Sec. 4.2]: both use the same names. Throws FileError for a file that cannot be
/// read, InvalidArgument if nothing in it fits.
std::vector<std::string> transfer_weights(const std::string& path,
                                          const attention::ParameterList& list,
                                          std::span<float> values);

/// The same from a safetensors file of another program, by the rules of `map`: parameters without a
/// rule, and those for which the file has no tensor, keep their values. Also throws InvalidArgument
/// for a tensor whose size differs from that of its parameter, unless the rule is optional, and for
/// a file of another kind.
std::vector<std::string> transfer_weights(const std::string& path,
                                          const NameMap& map,
                                          const attention::ParameterList& list,
                                          std::span<float> values);

/// Replaces, in every layer and head, the queries and keys by those of rank r whose scores are
/// nearest: with Q = [X 1] A, K = [X 1] B, A B^T (d + 1 x d + 1, of rank p) becomes its truncated
/// SVD, the Frobenius-optimal matrix of rank r; columns r..p-1 of A and B become 0. Throws
/// InvalidArgument unless 0 <= rank <= p, or if a layer has no queries and keys of width d.
void truncate_scores(const ModelDescription& description, Index rank, std::span<float> values);

}  // namespace matapprox::training
