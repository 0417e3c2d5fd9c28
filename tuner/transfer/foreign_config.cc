#include "tuner/transfer/foreign_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/json.h"
#include "tuner/transfer/foreign_workload.h"

namespace hone {
namespace {

constexpr double kExactly = std::numeric_limits<double>::infinity();
// Values for knobs that AutoTVM does not have but that must change together with others: blocks of a reduction must
// divide.
constexpr double kFree = 0.1;
// TVM's CPU templates compute F(4x4, 3x3).
constexpr int64_t kWinogradTile = 4;

// No tile is larger; a record that says so is damaged or made up.
constexpr int64_t kLargest = int64_t{1} << 31;

// `v` as a number from 0 to kLargest; nothing when it is none.
std::optional<int64_t> number_of(const Json& v) {
  if (!v.is_number_integer() || v.get<int64_t>() < 0 || v.get<int64_t>() > kLargest) return std::nullopt;
  return v.get<int64_t>();
}

// The record's knobs by name.
class ForeignKnobs {
 public:
  explicit ForeignKnobs(const std::string& text) {
    const Json entity = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!entity.is_array()) return;
    for (const Json& knob : entity)
      if (knob.is_array() && knob.size() == 3 && knob[0].is_string()) values_[knob[0].get<std::string>()] = knob[2];
  }
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// The innermost factor of a split; 0 when there is none that makes sense.
  int64_t inner(const std::string& name) const {
    const Json* v = find(name);
    return v && v->is_array() && !v->empty() ? number_of(v->back()).value_or(0) : 0;
  }
  /// A number or a truth value; `otherwise` when it is neither.
  int64_t number(const std::string& name, int64_t otherwise) const {
    const Json* v = find(name);
    if (v && v->is_boolean()) return v->get<bool>() ? 1 : 0;
    return v ? number_of(*v).value_or(otherwise) : otherwise;
  }
  /// The annotation of loop `at`: "unroll", "vec", "none"; empty when there is none.
  std::string annotation(const std::string& name, size_t at) const {
    const Json* v = find(name);
    return v && v->is_array() && at < v->size() && (*v)[at].is_string() ? (*v)[at].get<std::string>() : "";
  }
  /// The loop at position `at` of an order; -1 when it does not say.
  int64_t order(const std::string& name, size_t at) const {
    const Json* v = find(name);
    return v && v->is_array() && at < v->size() ? number_of((*v)[at]).value_or(-1) : -1;
  }

 private:
  const Json* find(const std::string& name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }
  std::map<std::string, Json> values_;
};

// From elements on its target, at least whole vectors, to elements on ours.
struct Vectors {
  int64_t theirs, ours;
  int64_t operator()(int64_t elements) const { return std::max<int64_t>(1, (elements * ours + theirs / 2) / theirs); }
};

std::vector<Wish> blocked_convolution(const ForeignKnobs& k, const Vectors& vectors) {
  if (k.inner("tile_oc") == 0 || k.inner("tile_ow") == 0) return {};
  const bool unroll = k.number("unroll_kw", 0) != 0;
  // AutoTVM's order is kh ic kw where kw is unrolled, else kh kw ic.
  return {{"algorithm", {0}, kExactly},
          {"oc_block", {vectors(k.inner("tile_oc"))}},
          {"ic_block", {k.inner("tile_ic")}},
          {"tile_ow", {k.inner("tile_ow")}},
          {"tile_oh", {k.number("tile_oh", 1)}},
          {"unroll_kw", {unroll}},
          {"order", {unroll}},
          {"unroll_ic", {4}, kFree}};
}

std::vector<Wish> spatial_pack(const ForeignKnobs& k, const Vectors& vectors) {
  int64_t channels = k.inner("tile_co"), columns = k.inner("tile_ow");
  if (channels == 0 || columns == 0) return {};
  // Loops 7, 8, 9 are rows, columns and channels of the tile. Where channels are not last, vectors run along columns:
  // the same register tile, transposed.
  if (k.order("reorder_0", 9) == 8) std::swap(channels, columns);
  return {{"algorithm", {0}, kExactly},
          {"oc_block", {vectors(channels)}},
          {"tile_ow", {columns}},
          {"tile_oh", {std::max<int64_t>(1, k.inner("tile_oh"))}},
          {"unroll_kw", {k.annotation("ann_reduce", 1) == "unroll"}},
          {"ic_block", {16}, kFree},
          {"unroll_ic", {4}, kFree}};
}

std::vector<Wish> winograd(const ForeignKnobs& k, const Vectors& vectors) {
  if (k.inner("tile_p") == 0 || k.inner("tile_k") == 0) return {};
  const int64_t unroll = k.annotation("ann_reduce", 0) == "unroll" ? std::max<int64_t>(1, k.inner("tile_c")) : 1;
  // A tile with too few accumulators to hide their latency is no valid config here: rows may grow before blocks of
  // channels do.
  return {{"algorithm", {kWinogradTile}, kExactly}, {"w_oc_block", {vectors(k.inner("tile_k"))}},
          {"w_tile_p", {k.inner("tile_p")}, 0.5},   {"w_unroll_ic", {unroll}},
          {"w_ic_block", {vectors.ours}, kFree},    {"w_block_p", {2}, kFree}};
}

std::vector<Wish> depthwise(const ForeignKnobs& k, const Vectors& vectors, bool blocked) {
  const int64_t channels = k.inner(blocked ? "tile_oc" : "tile_c"), columns = k.inner(blocked ? "tile_ow" : "tile_w");
  if (channels == 0 || columns == 0) return {};
  const int64_t rows = blocked ? k.number("tile_oh", 1) : std::max<int64_t>(1, k.inner("tile_h"));
  return {{"c_block", {vectors(channels)}},
          {"tile_ow", {columns}},
          {"tile_oh", {rows}},
          {"unroll_kw", {blocked ? k.number("unroll_kw", 1) : 1}}};
}

std::vector<Wish> dense(const ForeignKnobs& k, const Vectors& vectors) {
  if (k.inner("tile_x") == 0 || k.inner("tile_y") == 0) return {};
  return {{"n_block", {vectors(k.inner("tile_x"))}},
          {"tile_m", {k.inner("tile_y")}},
          {"unroll_k", {std::clamp<int64_t>(k.inner("tile_k"), 1, 8)}, 0.5}};
}

}  // namespace

int64_t foreign_lanes(const std::string& target) {
  const auto says = [&](const char* word) { return target.find(word) != std::string::npos; };
  if (says("avx512") || says("cascadelake") || says("icelake") || says("sapphirerapids")) return 16;
  if (says("arm") || says("aarch64") || says("neon")) return 4;
  return 8;
}

std::vector<Wish> foreign_wishes(const db::ForeignRow& record, const Target& target) {
  const auto kind = foreign_template(record.template_name);
  if (!kind.ok()) return {};
  const ForeignKnobs k(record.config);
  const Vectors vectors{foreign_lanes(record.target), target.lanes(32)};
  switch (*kind) {
    case ForeignTemplate::kConvBlocked: return blocked_convolution(k, vectors);
    case ForeignTemplate::kConvSpatialPack: return spatial_pack(k, vectors);
    case ForeignTemplate::kConvWinograd: return winograd(k, vectors);
    case ForeignTemplate::kDepthwiseBlocked: return depthwise(k, vectors, true);
    case ForeignTemplate::kDepthwisePlain: return depthwise(k, vectors, false);
    case ForeignTemplate::kDense: return dense(k, vectors);
  }
  return {};
}

std::optional<Config> foreign_config(const db::ForeignRow& record, const Target& target, const Space& space) {
  const std::vector<Wish> wishes = foreign_wishes(record, target);
  if (wishes.empty()) return std::nullopt;
  return nearest_config(space, wishes);
}

}  // namespace hone
