// Reads a saved model as a program in another language would: with the HDF5 library alone.
#include "matapprox/attention/training/model_file.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

using attention::Parameter;
using training::Model;
using training::SavedModel;

/// A model whose best parameters differ from its last ones: 0, 1, 2 ... over 3.
SavedModel model_to_save() {
  SavedModel saved;
  saved.task = "temporal_order";
  saved.task_options = {{"length", "12"}};
  saved.seed = 4;
  saved.model.options.attention = "softmax";
  saved.model.options.width = 8;
  saved.model.options.heads = 2;
  saved.model.task = tasks::make_task(saved.task, saved.task_options, saved.seed)->shape();
  const Model<float> model(saved.model);
  training::TrainingState& state = saved.state;
  state.parameters = model.parameters().initial_values<float>(saved.seed);
  for (std::size_t i = 0; i < state.parameters.size(); ++i)
    state.best.push_back(static_cast<float>(i) / 3);
  state.optimizer.first.assign(state.parameters.size(), 0);
  state.optimizer.second = state.optimizer.first;
  state.optimizer.step = 20;
  state.best_step = 10;
  state.best_error = 0.5;
  state.best_loss = 1.25;
  state.history = {{10, 0.5, 1.5, 1.25, 0.5}, {20, 1, 1.125, 1.375, 0.75}};
  return saved;
}

/// Only a run that started from another model has initial values and deviations; files without them
/// are readable.
TEST(ModelFile, KeepsTheStartAndTheDeviationsFromIt) {
  const std::string path = test::temporary_dir() + "/deviations.h5";
  SavedModel saved = model_to_save();
  training::save_model(path, saved);
  EXPECT_TRUE(training::load_model(path).state.start.empty());
  saved.state.start = saved.state.best;
  std::vector<double> row;
  const Model<float> model(saved.model);
  for (std::size_t i = 0; i < model.parameters().parameters().size(); ++i)
    row.push_back(static_cast<double>(i) / 7);
  row[1] = std::numeric_limits<double>::infinity();
  saved.state.deviations = {row, row};
  saved.state.deviations[1][0] = 5;
  training::save_model(path, saved);
  const SavedModel loaded = training::load_model(path);
  EXPECT_EQ(loaded.state.start, saved.state.start);
  EXPECT_EQ(loaded.state.deviations, saved.state.deviations);
  saved.state.deviations.pop_back();  // the history has two entries
  training::save_model(path, saved);
  EXPECT_THROW(training::load_model(path), FileError);
}

TEST(ModelFile, ParametersThatAreNotFiniteAreDamage) {
  const std::string path = test::temporary_dir() + "/model.h5";
  training::save_model(path, model_to_save());
  const Model<float> model(model_to_save().model);
  const std::string name = model.parameters().parameters().back().name;
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    test::replace_first_number(path, "parameters/" + name, value);
    EXPECT_REFUSED(FileError, training::load_model(path), name + " holds NaN or Inf");
  }
}

/// Contents of a dataset of a file.
struct Stored {
  bool little_endian_floats = false;
  std::vector<hsize_t> extents;
  std::vector<float> values;
};

Stored stored_in(const std::string& path, const std::string& name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  EXPECT_GE(dataset, 0) << name;
  const hid_t type = H5Dget_type(dataset);
  const hid_t space = H5Dget_space(dataset);
  Stored stored;
  stored.little_endian_floats = H5Tequal(type, H5T_IEEE_F32LE) > 0;
  stored.extents.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, stored.extents.data(), nullptr);
  stored.values.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.values.data()),
            0);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(dataset);
  H5Fclose(file);
  return stored;
}

hsize_t members_of(const std::string& path, const std::string& name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t group = H5Gopen2(file, name.c_str(), H5P_DEFAULT);
  H5G_info_t info{};
  EXPECT_GE(H5Gget_info(group, &info), 0) << name;
  H5Gclose(group);
  H5Fclose(file);
  return info.nlinks;
}

std::vector<hsize_t> extents(std::initializer_list<Index> sizes) {
  return {sizes.begin(), sizes.end()};
}

TEST(ModelFile, HasTheBestParametersByNameAsMatricesOfFloats) {
  const std::string path = test::temporary_dir() + "/model.h5";
  training::save_model(path, model_to_save());
  const SavedModel loaded = training::load_model(path);
  EXPECT_EQ(loaded.state.best, model_to_save().state.best);
  const Model<float> model(loaded.model);
  const std::vector<Parameter>& list = model.parameters().parameters();
  EXPECT_EQ(members_of(path, "/parameters"), list.size());
  for (const Parameter& p : list) {
    const Stored stored = stored_in(path, "/parameters/" + p.name);
    EXPECT_TRUE(stored.little_endian_floats) << p.name;
    EXPECT_EQ(stored.extents, extents({p.rows, p.cols})) << p.name;
    const auto first = loaded.state.best.begin() + p.offset;
    EXPECT_EQ(stored.values, std::vector<float>(first, first + p.size())) << p.name;
  }
}

TEST(ModelFile, HasTheLastParametersAndTheHistoryInItsState) {
  const std::string path = test::temporary_dir() + "/model.h5";
  const SavedModel saved = model_to_save();
  training::save_model(path, saved);
  const Stored last = stored_in(path, "/state/parameters");
  EXPECT_TRUE(last.little_endian_floats);
  EXPECT_EQ(last.values, saved.state.parameters);
  EXPECT_EQ(last.extents, extents({static_cast<Index>(last.values.size())}));
  const Stored history = stored_in(path, "/state/history");
  EXPECT_EQ(history.extents, extents({2, 5}));
  EXPECT_EQ(history.values,
            (std::vector<float>{10, 0.5, 1.5, 1.25, 0.5, 20, 1, 1.125, 1.375, 0.75}));
}

/// Renames three items of the file at `path` to their names in version 1.
void give_old_names(const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t options = H5Gopen2(file, "attention_options", H5P_DEFAULT);
  EXPECT_GE(H5Lmove(options, "residual_scores", options, "carry_scores", H5P_DEFAULT, H5P_DEFAULT),
            0);
  const hid_t state = H5Gopen2(file, "state", H5P_DEFAULT);
  EXPECT_GE(H5Arename(state, "validations_without_gain", "looks_without_gain"), 0);
  const hid_t version = H5Aopen(file, "format_version", H5P_DEFAULT);
  const std::int64_t one = 1;
  EXPECT_GE(H5Awrite(version, H5T_NATIVE_INT64, &one), 0);
  H5Aclose(version);
  H5Gclose(state);
  H5Gclose(options);
  H5Fclose(file);
}

TEST(ModelFile, VersionOneIsReadUnderItsOldNames) {
  const std::string path = test::temporary_dir() + "/old.h5";
  SavedModel saved = model_to_save();
  saved.model.attention_options = {{"residual_scores", "true"}};
  saved.model.options.attention = "softmax";
  saved.state.validations_without_gain = 3;
  save_model(path, saved);
  give_old_names(path);
  const SavedModel read = training::load_model(path);
  EXPECT_EQ(read.model.attention_options, saved.model.attention_options);
  EXPECT_EQ(read.state.validations_without_gain, 3);
}

}  // namespace
}  // namespace matapprox
