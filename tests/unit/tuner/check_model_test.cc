// Which bytes of models reach XGBoost.
#include "tuner/cost/check_model.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "base/json.h"
#include "tuner/cost/prior.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr int kColumns = 6;

// A real prior of a few small trees would have 200: the first three of it, as XGBoost's bytes and as a value.
PriorGroup group() {
  PriorGroup g{Matrix(kColumns), {}};
  std::mt19937_64 rng(7);
  const auto unit = [&] { return static_cast<float>(rng() >> 40) / static_cast<float>(1 << 24); };
  for (int i = 0; i < 60; ++i) {
    const float row[kColumns] = {unit(), unit(), unit(), unit(), unit(), unit()};
    g.rows.add_row(row);
    g.scores.push_back(row[0] * (1 - row[1]) + 0.2F);
  }
  return g;
}

const std::string& whole() {
  static const std::string bytes = *train_prior({group()}, kColumns);
  return bytes;
}

Json& model_of(Json& root) { return root["learner"]["gradient_booster"]["model"]; }

Json small() {
  Json root = Json::from_ubjson(whole());
  Json& model = model_of(root);
  model["trees"].erase(model["trees"].begin() + 3, model["trees"].end());
  model["tree_info"].erase(model["tree_info"].begin() + 3, model["tree_info"].end());
  model["gbtree_model_param"]["num_trees"] = "3";
  return root;
}

// UBJSON as XGBoost writes it: arrays of numbers are typed, lengths are of 64 bits.
void write_length(size_t n, std::string& out) {
  out += 'L';
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift);
}

template <class T>
void write_number(T value, std::string& out) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.rbegin(), bytes.rend());
}

void write(const Json& j, const std::string& key, std::string& out) {
  if (j.is_object()) {
    out += '{';
    for (const auto& [name, value] : j.items()) {
      write_length(name.size(), out);
      out += name;
      write(value, name, out);
    }
    out += '}';
  } else if (j.is_string()) {
    out += 'S';
    write_length(j.get_ref<const std::string&>().size(), out);
    out += j.get_ref<const std::string&>();
  } else if (j.is_array() && key != "trees" && key != "version" && key != "feature_names" && key != "feature_types" &&
             key != "tree_info") {
    const bool bytes = key == "default_left" || key == "split_type",
               wide = key == "categories_segments" || key == "categories_sizes";
    const bool real =
        key == "split_conditions" || key == "base_weights" || key == "loss_changes" || key == "sum_hessian";
    out += std::string("[$") + (bytes ? 'U' : real ? 'd' : wide ? 'L' : 'l') + '#';
    write_length(j.size(), out);
    for (const Json& x : j) {
      if (bytes)
        out += static_cast<char>(x.get<int>());
      else if (real)
        write_number(x.get<float>(), out);
      else if (wide)
        write_number(x.get<int64_t>(), out);
      else
        write_number(static_cast<int32_t>(x.get<int64_t>()), out);
    }
  } else if (j.is_array()) {
    out += "[#";
    write_length(j.size(), out);
    for (const Json& x : j) write(x, "", out);
  } else {
    out += 'L';
    write_number(j.get<int64_t>(), out);
  }
}

std::string bytes_of(const Json& j) {
  std::string out;
  write(j, "", out);
  return out;
}

// Refused, or a model that predicts; true when it was taken. A crash must not happen.
bool refused_or_predicts(const std::string& bytes) {
  const auto model = make_xgb_model();
  if (!model->load(bytes, kColumns).ok()) return false;
  const PriorGroup g = group();
  const auto predicted = model->predict(g.rows);
  EXPECT_TRUE(!predicted.ok() || predicted->size() == g.scores.size());
  return predicted.ok();
}

void refused(const std::function<void(Json&)>& spoil, const std::string& why) {
  Json root = small();
  spoil(root);
  const Status status = check_model(bytes_of(root), kColumns);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << why;
  EXPECT_THAT(message_of(status), HasSubstr(why));
  EXPECT_EQ(message_of(status).find('\n'), std::string::npos);
  EXPECT_FALSE(make_xgb_model()->load(bytes_of(root), kColumns).ok());
}

void tree_refused(const std::function<void(Json&)>& spoil, const std::string& why) {
  refused([&](Json& root) { spoil(model_of(root)["trees"][1]); }, "tree 1: the model cannot be used: ");
  refused([&](Json& root) { spoil(model_of(root)["trees"][1]); }, why);
}

TEST(CheckModel, TakesWhatIsTrained) {
  EXPECT_TRUE(check_model(whole(), kColumns).ok()) << check_model(whole(), kColumns);
  EXPECT_TRUE(check_model(whole(), 0).ok());
  ASSERT_TRUE(check_model(bytes_of(small()), kColumns).ok()) << check_model(bytes_of(small()), kColumns);
  EXPECT_TRUE(refused_or_predicts(bytes_of(small()))) << "as the changed ones below are written";
  EXPECT_THAT(message_of(check_model(whole(), 7)), HasSubstr("takes 6 features a row, not 7"));
}

TEST(CheckModel, RefusesTreesThatAreNone) {
  for (const int child : {0, -2, 1000, INT32_MAX, INT32_MIN}) {
    tree_refused([&](Json& t) { t["left_children"][0] = child; }, "node 0 has a child");
    tree_refused([&](Json& t) { t["right_children"][0] = child; }, "node 0 has a child");
  }
  tree_refused([](Json& t) { t["left_children"][0] = -1; }, "node 0 has a child -1");
  tree_refused([](Json& t) { t["left_children"][0] = t["right_children"][0]; }, "is not the child of one node");
  tree_refused([](Json& t) { t["left_children"][0] = t["right_children"][0] = -1; }, "is nobody's child");
  tree_refused([](Json& t) { t["parents"][1] = 2; }, "node 1 is not the child of one node");
  tree_refused([](Json& t) { t["parents"][0] = 0; }, "its root has a parent");
  for (const int column : {-1, kColumns, INT32_MAX})
    tree_refused([&](Json& t) { t["split_indices"][0] = column; }, "node 0 looks at feature");
  tree_refused([](Json& t) { t["default_left"][0] = 2; }, "default_left of node 0");
  tree_refused([](Json& t) { t["split_type"][0] = 1; }, "it splits by categories");
  tree_refused([](Json& t) { t["categories"].push_back(1); }, "categories are not empty");
  tree_refused([](Json& t) { t["categories_nodes"].push_back(0); }, "categories_nodes are not empty");
  for (const float x : {INFINITY, -INFINITY, NAN, 1e30F})
    tree_refused([&](Json& t) { t["split_conditions"][0] = x; }, "a number of it is missing, or not finite");
  tree_refused([](Json& t) { t["base_weights"].erase(0); }, "a number of it is missing");
  tree_refused([](Json& t) { t["parents"].push_back(0); }, "its arrays are not of one integer for each node");
  tree_refused([](Json& t) { t.erase("split_indices"); }, "its arrays are not of one integer");
  tree_refused([](Json& t) { t["id"] = 0; }, "its id is another tree's");
  for (const char* n : {"0", "-1", "4", "99999999999999999999", "7x", ""})
    tree_refused([&](Json& t) { t["tree_param"]["num_nodes"] = n; }, "");
  tree_refused([](Json& t) { t["tree_param"]["num_feature"] = "7"; }, "num_feature is not 6");
  tree_refused([](Json& t) { t["tree_param"]["num_deleted"] = "1"; }, "deleted");
  tree_refused([](Json& t) { t["tree_param"]["size_leaf_vector"] = "3"; }, "leaves are vectors");
}

TEST(CheckModel, RefusesModelsThatAreNotOurs) {
  refused([](Json& r) { r["learner"]["objective"]["name"] = "rank:pairwise"; }, "objective is not reg:squarederror");
  refused([](Json& r) { r["learner"]["gradient_booster"]["name"] = "dart"; }, "booster is not gbtree");
  refused([](Json& r) { r["learner"]["learner_model_param"]["base_score"] = "nan"; }, "base_score");
  refused([](Json& r) { r["learner"]["learner_model_param"]["base_score"] = "1e300"; }, "base_score");
  refused([](Json& r) { r["learner"]["learner_model_param"]["num_class"] = "3"; }, "num_class");
  refused([](Json& r) { r["learner"]["learner_model_param"]["num_feature"] = "4294967302"; }, "num_feature");
  refused([](Json& r) { r["learner"]["attributes"]["best_iteration"] = "9"; }, "attributes are not empty");
  refused([](Json& r) { model_of(r)["gbtree_model_param"]["num_trees"] = "4"; }, "num_trees");
  refused([](Json& r) { model_of(r)["gbtree_model_param"]["num_parallel_tree"] = "0"; }, "num_parallel_tree");
  refused([](Json& r) { model_of(r)["tree_info"][0] = 1; }, "several classes");
  refused([](Json& r) { model_of(r)["trees"] = Json::array(); }, "trees");
  refused([](Json& r) { model_of(r).erase("trees"); }, "trees");
}

TEST(CheckModel, RefusesWhatIsHostileToTheParser) {
  const std::string good = bytes_of(small());
  for (const std::string& bytes :
       {std::string(), std::string("{"), std::string("binf"), std::string("no model"), std::string(100, '\0'),
        good.substr(0, good.size() / 2), good + "x",
        "{L" + std::string(7, '\0') + "\001a" + std::string(1'000'000, '['), "{\"a\":" + std::string(1'000'000, '[')})
    EXPECT_TRUE(absl::IsInvalidArgument(check_model(bytes, kColumns))) << bytes.substr(0, 20);
  // An array of 2^40 nulls, which take no bytes.
  std::string nulls = "{L" + std::string(7, '\0') + "\001a[$Z#L" + std::string("\0\0\1\0\0\0\0\0", 8) + "}";
  EXPECT_TRUE(absl::IsInvalidArgument(check_model(nulls, kColumns)));
  // A key twice: which of the two counts is each parser's own affair.
  std::string twice = good;
  twice.insert(twice.find("learner") - 9, twice.substr(1, twice.size() - 2));
  EXPECT_TRUE(absl::IsInvalidArgument(check_model(twice, kColumns)));
  EXPECT_TRUE(absl::IsInvalidArgument(check_model(std::string(9 << 20, 'x'), kColumns)));
}

// Every integer of the model, changed to an attacker's choices: none crashes.
void mutate(Json& root, Json& at, int* tried, int* taken) {
  if (at.is_structured()) {
    for (Json& below : at) mutate(root, below, tried, taken);
    return;
  }
  const bool text = at.is_string();
  if (!at.is_number_integer() && !text) return;
  const Json before = at;
  for (const int64_t value : {int64_t{-1}, int64_t{-2}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{5}, int64_t{6},
                              int64_t{127}, int64_t{255}, int64_t{1} << 20, int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
    at = text ? Json(std::to_string(value)) : Json(value);
    ++*tried;
    *taken += refused_or_predicts(bytes_of(root));
  }
  at = before;
}

TEST(CheckModel, NoChangedIntegerCrashes) {
  Json root = small();
  int tried = 0, taken = 0;
  mutate(root, root, &tried, &taken);
  EXPECT_GT(tried, 1000);
  EXPECT_GT(taken, 10) << "some of them mean no harm";
  EXPECT_LT(taken, tried / 2);
}

TEST(CheckModel, NoChangedByteCrashes) {
  const std::string good = bytes_of(small());
  std::mt19937_64 rng(3);
  for (size_t at = 0; at < good.size(); at += 1 + rng() % 4) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (rng() % 8)));
    refused_or_predicts(bytes);
  }
}

TEST(CheckModel, JsonIsCheckedLikeUbjson) {
  Json root = small();
  const std::string text = root.dump();
  EXPECT_TRUE(check_model(text, kColumns).ok()) << check_model(text, kColumns);
  refused_or_predicts(text);
  model_of(root)["trees"][0]["left_children"][0] = 1 << 30;
  EXPECT_THAT(message_of(check_model(root.dump(), kColumns)),
              HasSubstr("tree 0: the model cannot be used: node 0 has a child 1073741824"));
}

}  // namespace
}  // namespace hone
