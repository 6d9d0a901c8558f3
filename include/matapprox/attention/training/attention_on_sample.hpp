#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/attention/training/model.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox::training {

/// A model run on one sample, in double precision, for the analysis of its attention: each head's
/// effective matrix E (N x N, which multiplies the head's values) is a linear operator, which every
/// method of this library can approximate. E is never formed unless requested. If V and X differ by
/// a residual (PSF), E includes it.
class AttentionOnSample {
 public:
  /// Throws InvalidArgument if the sample does not fit the model.
  AttentionOnSample(const ModelDescription& description,
                    std::span<const float> parameters,
                    const tasks::Sample& sample);
  Index length() const;
  Index layers() const;
  Index heads() const;
  /// E of a head. It shares its data with this object and may outlive it. A product with b columns
  /// costs about a forward pass of the layer with b in place of the head's width.
  std::shared_ptr<const LinearOperator> matrix(Index layer, Index head) const;
  /// One dense matrix for the whole model: the largest entry over the heads, the mean over the
  /// layers. [Singularformer, Eqs. 19 and 20] Memory: two N x N arrays.
  Matrix summary() const;

 private:
  class Operator;
  struct Run;
  std::shared_ptr<Run> run_;
};

/// Returns the mean of some rows of E: the weights with which the values of all tokens enter these
/// rows. Rows count as often as they are listed. Cost: one product with E^T. Throws InvalidArgument
/// for no rows and for one that E does not have.
Vector mean_attention(const LinearOperator& E, const std::vector<Index>& rows);

/// Returns the mean of some columns of E: the weights with which the values of these tokens enter
/// all tokens. Otherwise like mean_attention, with one product with E.
Vector mean_attention_to(const LinearOperator& E, const std::vector<Index>& columns);

/// Returns the pixels of an image of `width` columns, `size` in all and row by row, whose centers
/// are at most `radius` from the center of one of `pixels`; ascending, each once. A radius of 1
/// includes the four direct neighbors of a pixel. Throws InvalidArgument for a pixel outside the
/// image.
std::vector<Index> pixels_around(const std::vector<Index>& pixels,
                                 Index size,
                                 Index width,
                                 double radius);

/// Pearson's correlation of row i of A with row i of B, averaged over the rows in which neither is
/// constant. [Singularformer, Sec. 5.2] Throws InvalidArgument for different sizes, or if there is
/// no such row.
double attention_correlation(const Matrix& A, const Matrix& B);

}  // namespace matapprox::training
