#include "tuner/cost/check_model.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace hone {
namespace {

// A prior has 200 trees of at most 127 nodes.
constexpr int64_t kMostTrees = 20'000, kMostNodes = 1 << 16, kMostColumns = 1 << 16;
constexpr size_t kMostBytes = size_t{8} << 20;
// A model's values nest seven deep; the parsers of both formats recurse.
constexpr size_t kDeepest = 16;
// Labels are from 0 to about 1: sums beyond a float's range are no prediction.
constexpr double kMostValue = 1e6;
constexpr int64_t kNoParent = INT32_MAX;  // parent of a root
constexpr int64_t kLeaf = -1;             // in place of a missing child

Status bad(std::string why) { return absl::InvalidArgumentError("the model cannot be used: " + std::move(why)); }

// Builds a value as parsers do, and stops where it nests too deep, repeats a key (parsers differ in which value
// counts), or has more elements than bytes (arrays of elements that take no bytes).
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(size_t most) : left_(most) {}
  Json take() { return std::move(root_); }

  bool null() override { return put(Json()); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(int64_t v) override { return put(Json(v)); }
  bool number_unsigned(uint64_t v) override { return put(Json(v)); }
  bool number_float(double v, const std::string&) override { return put(Json(v)); }
  bool string(std::string& v) override { return put(Json(std::move(v))); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return !open_.empty() && !open_.back()->contains(key_);
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  Json* place(Json value) {
    if (left_ == 0) return nullptr;
    --left_;
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool put(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json value) {
    if (open_.size() == kDeepest) return false;
    Json* const at = place(std::move(value));
    if (at) open_.push_back(at);
    return at != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  size_t left_;
  Json root_;
  std::string key_;
  std::vector<Json*> open_;  // parents stay in place while their last child is filled
};

StatusOr<Json> parse(std::string_view bytes) {
  if (bytes.size() > kMostBytes)
    return bad(fmt::format("it has {} bytes, at most {} are allowed", bytes.size(), kMostBytes));
  // XGBoost tells the formats apart by the second byte, and takes any other for a model of an older version.
  if (bytes.size() < 2 || bytes[0] != '{') return bad("it is neither UBJSON nor JSON");
  const bool text = bytes[1] == '"';
  if (!text && (std::isalpha(static_cast<unsigned char>(bytes[1])) == 0)) return bad("it is neither UBJSON nor JSON");
  Builder builder(bytes.size());
  const auto format = text ? Json::input_format_t::json : Json::input_format_t::ubjson;
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &builder, format)) return bad("it is cut or malformed");
  return builder.take();
}

const Json* find(const Json* object, std::string_view name) {
  if (!object || !object->is_object()) return nullptr;
  const auto it = object->find(std::string(name));
  return it == object->end() ? nullptr : &*it;
}

// XGBoost writes its parameters as text.
std::optional<int64_t> parameter(const Json* object, std::string_view name) {
  const Json* value = find(object, name);
  if (!value || !value->is_string()) return std::nullopt;
  const auto& text = value->get_ref<const std::string&>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

bool is_text(const Json* value, std::string_view text) {
  return value && value->is_string() && value->get_ref<const std::string&>() == text;
}

bool is_empty(const Json* value) { return !value || (value->is_structured() && value->empty()); }

std::optional<std::vector<int64_t>> integers(const Json* tree, std::string_view name, size_t n) {
  const Json* array = find(tree, name);
  if (!array || !array->is_array() || array->size() != n) return std::nullopt;
  std::vector<int64_t> out;
  out.reserve(n);
  for (const Json& x : *array) {
    if (x.is_boolean())
      out.push_back(x.get<bool>());
    else if (x.is_number_integer() && (!x.is_number_unsigned() || x.get<uint64_t>() <= INT64_MAX))
      out.push_back(x.get<int64_t>());
    else
      return std::nullopt;
  }
  return out;
}

bool all_within(const Json* tree, std::string_view name, size_t n, double most) {
  const Json* array = find(tree, name);
  if (!array || !array->is_array() || array->size() != n) return false;
  for (const Json& x : *array)
    if (!x.is_number() || !(std::abs(x.get<double>()) <= most)) return false;
  return true;
}

bool all_equal(const std::optional<std::vector<int64_t>>& values, int64_t value) {
  if (!values) return false;
  for (const int64_t v : *values)
    if (v != value) return false;
  return true;
}

// Every node but the root is the child of one that stands before it, so that each walk from the root ends in a leaf.
Status check_nodes(const Json* tree, size_t n, int64_t columns) {
  const auto left = integers(tree, "left_children", n), right = integers(tree, "right_children", n);
  const auto parents = integers(tree, "parents", n), column = integers(tree, "split_indices", n);
  const auto default_left = integers(tree, "default_left", n);
  if (!left || !right || !parents || !column || !default_left)
    return bad("its arrays are not of one integer for each node");
  const auto nodes = static_cast<int64_t>(n);
  std::vector<char> has_parent(n, 0);
  for (int64_t i = 0; i < nodes; ++i) {
    const auto at = static_cast<size_t>(i);
    if ((*default_left)[at] != 0 && (*default_left)[at] != 1) return bad(fmt::format("default_left of node {}", i));
    if ((*column)[at] < 0 || (*column)[at] >= columns)
      return bad(fmt::format("node {} looks at feature {} of {}", i, (*column)[at], columns));
    if ((*left)[at] == kLeaf && (*right)[at] == kLeaf) continue;
    for (const int64_t child : {(*left)[at], (*right)[at]}) {
      if (child <= i || child >= nodes) return bad(fmt::format("node {} has a child {} of {} nodes", i, child, nodes));
      if (std::exchange(has_parent[static_cast<size_t>(child)], 1) != 0 || (*parents)[static_cast<size_t>(child)] != i)
        return bad(fmt::format("node {} is not the child of one node", child));
    }
  }
  if ((*parents)[0] != kNoParent) return bad("its root has a parent");
  for (size_t i = 1; i < n; ++i)
    if (!has_parent[i]) return bad(fmt::format("node {} is nobody's child", i));
  return absl::OkStatus();
}

Status check_tree(const Json& tree, int64_t id, int64_t columns) {
  const Json* parameters = find(&tree, "tree_param");
  const auto nodes = parameter(parameters, "num_nodes");
  if (!nodes || *nodes < 1 || *nodes > kMostNodes) return bad(fmt::format("num_nodes is not from 1 to {}", kMostNodes));
  if (parameter(parameters, "num_deleted") != 0) return bad("it has deleted nodes");
  if (parameter(parameters, "num_feature") != columns) return bad(fmt::format("num_feature is not {}", columns));
  if (const auto leaf = parameter(parameters, "size_leaf_vector"); leaf && *leaf != 0 && *leaf != 1)
    return bad("its leaves are vectors");
  const Json* own_id = find(&tree, "id");
  if (!own_id || !own_id->is_number_integer() || own_id->get<int64_t>() != id) return bad("its id is another tree's");
  const auto n = static_cast<size_t>(*nodes);
  HONE_RETURN_IF_ERROR(check_nodes(&tree, n, columns));
  if (!all_within(&tree, "split_conditions", n, kMostValue) || !all_within(&tree, "base_weights", n, kMostValue) ||
      !all_within(&tree, "loss_changes", n, 1e30) || !all_within(&tree, "sum_hessian", n, 1e30))
    return bad("a number of it is missing, or not finite");
  if (!all_equal(integers(&tree, "split_type", n), 0)) return bad("it splits by categories");
  for (const char* name : {"categories", "categories_nodes", "categories_segments", "categories_sizes"})
    if (!is_empty(find(&tree, name))) return bad(fmt::format("{} are not empty", name));
  return absl::OkStatus();
}

// "0E0"; later versions of XGBoost write "[0E0]".
bool is_score(const Json* value) {
  if (!value || !value->is_string()) return false;
  std::string text = value->get<std::string>();
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  char* end = nullptr;
  const double score = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() && std::abs(score) <= kMostValue;
}

Status check_learner(const Json* learner, int columns, int64_t* width) {
  const Json* parameters = find(learner, "learner_model_param");
  const auto found = parameter(parameters, "num_feature");
  if (!found || *found < 1 || *found > kMostColumns) return bad("num_feature is missing or out of range");
  if (columns > 0 && *found != columns) return bad(fmt::format("it takes {} features a row, not {}", *found, columns));
  *width = *found;
  if (!is_score(find(parameters, "base_score"))) return bad("base_score is not a number");
  if (parameter(parameters, "num_class").value_or(-1) != 0) return bad("num_class is not 0");
  if (find(parameters, "num_target") && parameter(parameters, "num_target") != 1) return bad("num_target is not 1");
  if (!is_text(find(find(learner, "objective"), "name"), "reg:squarederror"))
    return bad("its objective is not reg:squarederror");
  for (const char* name : {"attributes", "feature_names", "feature_types"})
    if (!is_empty(find(learner, name))) return bad(fmt::format("{} are not empty", name));
  return absl::OkStatus();
}

}  // namespace

Status check_model(std::string_view bytes, int columns) {
  HONE_ASSIGN_OR_RETURN(const Json root, parse(bytes));
  const Json* learner = find(&root, "learner");
  int64_t width = 0;
  HONE_RETURN_IF_ERROR(check_learner(learner, columns, &width));
  const Json* booster = find(learner, "gradient_booster");
  if (!is_text(find(booster, "name"), "gbtree")) return bad("its booster is not gbtree");
  const Json* model = find(booster, "model");
  const Json* trees = find(model, "trees");
  const Json* parameters = find(model, "gbtree_model_param");
  if (!trees || !trees->is_array() || trees->empty() || static_cast<int64_t>(trees->size()) > kMostTrees)
    return bad(fmt::format("it has not from 1 to {} trees", kMostTrees));
  const auto n = static_cast<int64_t>(trees->size());
  if (parameter(parameters, "num_trees") != n) return bad("num_trees is not the number of its trees");
  if (find(parameters, "num_parallel_tree") && parameter(parameters, "num_parallel_tree") != 1)
    return bad("num_parallel_tree is not 1");
  if (const auto leaf = parameter(parameters, "size_leaf_vector"); leaf && *leaf != 0 && *leaf != 1)
    return bad("its leaves are vectors");
  if (!all_equal(integers(model, "tree_info", trees->size()), 0)) return bad("its trees are of several classes");
  if (find(model, "iteration_indptr")) {  // of later versions: one tree a round
    const auto rounds = integers(model, "iteration_indptr", trees->size() + 1);
    for (int64_t t = 0; t <= n; ++t)
      if (!rounds || (*rounds)[static_cast<size_t>(t)] != t) return bad("iteration_indptr is not one tree a round");
  }
  for (int64_t t = 0; t < n; ++t)
    if (const Status s = check_tree((*trees)[static_cast<size_t>(t)], t, width); !s.ok())
      return absl::InvalidArgumentError(fmt::format("tree {}: {}", t, message_of(s)));
  return absl::OkStatus();
}

}  // namespace hone
