#include "compiler/schedule/steps_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace hone {
namespace {

// By the primitive's number.
constexpr std::array<std::string_view, 25> kNames = {"split",
                                                     "fuse",
                                                     "reorder",
                                                     "vectorize",
                                                     "unroll",
                                                     "parallel",
                                                     "compute_at",
                                                     "compute_inline",
                                                     "cache_read",
                                                     "cache_write",
                                                     "decompose_reduction",
                                                     "transform_layout",
                                                     "set_scope",
                                                     "annotate",
                                                     "split_parts",
                                                     "reverse_compute_at",
                                                     "reverse_compute_inline",
                                                     "rfactor",
                                                     "prepack",
                                                     "pad",
                                                     "annotate_loop",
                                                     "tensorize",
                                                     "bind",
                                                     "storage_align",
                                                     "double_buffer"};

Step step_from(const Json& j) {
  Step step{};
  const auto& name = j.at(0).get_ref<const std::string&>();
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  HONE_USER_CHECK(at != kNames.end()) << "steps: there is no primitive '" << clean_line(name) << "'";
  step.primitive = static_cast<Primitive>(at - kNames.begin());
  j.at(1).get_to(step.args);
  if (j.size() > 2) j.at(2).get_to(step.name);
  return step;
}

}  // namespace

std::string_view name_of(Primitive p) { return kNames.at(static_cast<size_t>(p)); }

// Written without a tree of JSON's values: a search asks for the steps of every config of a user's template.
std::string steps_to_text(const std::vector<Step>& steps) {
  std::string text = "[";
  for (const Step& step : steps) {
    fmt::format_to(std::back_inserter(text), "{}[\"{}\",[{}]", text.size() > 1 ? "," : "", name_of(step.primitive),
                   fmt::join(step.args, ","));
    if (!step.name.empty()) text += "," + json_line(Json(step.name));
    text += "]";
  }
  return text + "]";
}

std::vector<Step> steps_from_text(std::string_view text) {
  std::vector<Step> steps;
  try {
    for (const Json& j : Json::parse(text)) steps.push_back(step_from(j));
  } catch (const Json::exception& e) {
    throw UserError("steps: " + clean_line(e.what()));
  }
  return steps;
}

}  // namespace hone
