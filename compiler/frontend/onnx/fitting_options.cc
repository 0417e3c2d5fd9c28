#include "compiler/frontend/onnx/fitting_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/shell_command.h"
#include "compiler/frontend/onnx/import_file.h"

namespace hone::onnx {
namespace {

int64_t nearest_multiple(int64_t extent, int64_t factor) {
  return extent == 0 ? 0 : std::max(factor, (extent + factor / 2) / factor * factor);
}

using Inputs = google::protobuf::RepeatedPtrField<ValueInfo>;

ImportOptions rounded(const Inputs& inputs, ImportOptions options, int64_t factor) {
  std::set<std::string> names;
  for (const ValueInfo& v : inputs) {
    const auto& dims = v.type().tensor_type().shape().dim();
    for (int d = 1; d < dims.size(); ++d)
      if (!dims[d].dim_param().empty()) names.insert(dims[d].dim_param());
    const auto given = options.shapes.find(v.name());
    if (given == options.shapes.end()) continue;
    for (int d = 1; d < static_cast<int>(given->second.size()); ++d)
      if (int64_t& extent = given->second[static_cast<size_t>(d)]; d >= dims.size() || dims[d].dim_value() <= 0)
        extent = nearest_multiple(extent, factor);
  }
  for (auto& [name, extent] : options.bind)
    if (names.contains(name)) extent = nearest_multiple(extent, factor);
  return options;
}

bool have_same_extents(const ImportOptions& a, const ImportOptions& b) {
  return a.shapes == b.shapes && a.bind == b.bind;
}

}  // namespace

std::optional<ImportOptions> fitting_options(const std::string& path, const OperatorTable& operators,
                                             const ImportOptions& options) {
  const Inputs inputs = read_model(path).model.graph().input();
  const auto fits = [&](const ImportOptions& tried) {
    try {
      ModelFile file = read_model(path);
      import_file(file, path, operators, tried);
      return true;
    } catch (const UserError&) {
      return false;
    }
  };
  // Multiples of the largest are multiples of all: where they do not help, the extents are not to blame.
  const ImportOptions coarsest = rounded(inputs, options, 64);
  if (have_same_extents(coarsest, options) || !fits(coarsest)) return std::nullopt;
  ImportOptions before = options;
  for (const int64_t factor : {2, 4, 8, 16, 32}) {
    ImportOptions finer = rounded(inputs, options, factor);
    if (have_same_extents(finer, before)) continue;
    if (!have_same_extents(finer, options) && fits(finer)) return finer;
    before = std::move(finer);
  }
  return coarsest;
}

std::string extents_flags(const ImportOptions& options, const ImportOptions& other) {
  std::string text;
  for (const auto& [name, extent] : options.bind)
    if (other.bind.at(name) != extent) text += " " + shell_option("--bind", fmt::format("{}={}", name, extent));
  for (const auto& [name, shape] : options.shapes)
    if (other.shapes.at(name) != shape)
      text += " " + shell_option("--shape", fmt::format("{}={}", name, fmt::join(shape, "x")));
  return text;
}

}  // namespace hone::onnx
