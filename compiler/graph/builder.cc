#include "compiler/graph/builder.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/hash.h"
#include "compiler/graph/evaluate.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// Constants up to this size are computed however much they grow: a mask, a range, a table of positions.
constexpr int64_t kSmallBytes = 64 << 10;
// How much larger ones may grow: weights of 8 bits that become f32.
constexpr int64_t kMostGrowth = 4;
// Constants that are large where these are left (leave_large_constants).
constexpr int64_t kLarge = 1 << 20;

}  // namespace

std::string GraphBuilder::unique(std::string_view name) {
  // Names stand in texts behind `%`, up to a space or a comma.
  std::string base;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || (c && strchr("_./:-", c));  // not of "\0"
    base.push_back(is_plain ? c : '_');
  }
  if (base.empty()) base.push_back('v');
  for (;;) {
    const auto [it, is_new] = names_.try_emplace(base, 0);
    if (is_new) return base;
    std::string next = fmt::format("{}_{}", base, ++it->second);
    if (names_.try_emplace(next, 0).second) return next;
  }
}

ValueId GraphBuilder::new_value(std::string_view name, TensorType type) {
  graph_.values.push_back({unique(name), std::move(type), std::nullopt});
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId GraphBuilder::input(const std::string& name, const TensorType& type) {
  ValueId v = kNoValue;
  if (element_count(type.shape) > 0)
    v = new_value(name, {type.dtype, type.shape.empty() ? std::vector<int64_t>{1} : type.shape});
  graph_.inputs.push_back({name, v, type});
  return v;
}

ValueId GraphBuilder::constant(TensorData data, std::string_view name) {
  const bool is_left = leaves_large_ && static_cast<int64_t>(data.bytes().size()) > kSmallBytes;
  if (is_left) {
    const ValueId v = new_value("c", data.type());
    graph_.values.back().constant = std::move(data);
    return v;
  }
  const size_t hash = std::hash<Hash128>()(hash_bytes({data.bytes().data(), data.bytes().size()}));
  for (auto [it, end] = shared_.equal_range(hash); it != end; ++it) {
    const TensorData& known = *graph_.value(it->second).constant;
    if (known.type() == data.type() && std::equal(known.bytes().begin(), known.bytes().end(), data.bytes().begin()))
      return it->second;
  }
  const ValueId v = new_value(name.empty() ? "c" : name, data.type());
  graph_.values.back().constant = std::move(data);
  shared_.emplace(hash, v);
  return v;
}

std::vector<ValueId> GraphBuilder::add(std::string_view op, const AttributeTexts& given,
                                       const std::vector<ValueId>& inputs, const std::vector<std::string>& names) {
  std::vector<TensorType> types;
  for (const ValueId v : inputs) types.push_back(type(v));
  return add(infer(operators_, op, given, types).workload, inputs, names);
}

std::vector<ValueId> GraphBuilder::add(const Workload& w, const std::vector<ValueId>& inputs,
                                       const std::vector<std::string>& names) {
  const auto name_of_output = [&](size_t o) {
    return o < names.size() && !names[o].empty() ? names[o] : w.operator_name();
  };
  std::vector<TensorType> outputs;
  for (const auto& t : physical_types(w).outputs) outputs.push_back(t.type);
  int64_t in_bytes = 0, out_bytes = 0;
  for (const ValueId v : inputs) in_bytes += bytes_of(type(v));
  double work = 0;
  for (const TensorType& t : outputs) {
    out_bytes += bytes_of(t);
    work += static_cast<double>(element_count(t.shape));
  }
  const bool all_constant = std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return graph_.is_constant(v); });
  std::vector<ValueId> ids;
  if (all_constant) work = std::max(work, flops(w));
  const bool is_left = leaves_large_ && out_bytes > kLarge;
  if (all_constant && !is_left && out_bytes <= std::max(kMostGrowth * in_bytes, kSmallBytes) &&
      work <= most_work_ / 4 && work_ + work <= most_work_) {
    work_ += work;
    std::vector<TensorData> data;
    for (const ValueId v : inputs) data.push_back(*graph_.value(v).constant);
    // Transposes are done here: mostly of weights, and the interpreter takes seconds for large ones.
    const std::vector<TensorData> computed =
        is<ops::Transpose>(w) ? std::vector{data[0].transposed(w.attributes.get<std::vector<int64_t>>("perm"))}
                              : evaluate(w, data);
    for (size_t o = 0; o < computed.size(); ++o) ids.push_back(constant(computed[o], name_of_output(o)));
    return ids;
  }
  for (size_t o = 0; o < outputs.size(); ++o) ids.push_back(new_value(name_of_output(o), outputs[o]));
  graph_.nodes.push_back({w, inputs, ids, origin_});
  return ids;
}

std::vector<ValueId> GraphBuilder::copy(const Workload& w, const std::vector<ValueId>& inputs,
                                        const std::vector<std::string>& names, const std::vector<TensorType>& types) {
  if (std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return graph_.is_constant(v); }))
    return add(w, inputs, names);
  std::vector<ValueId> ids;
  for (size_t o = 0; o < types.size(); ++o) ids.push_back(new_value(names[o], types[o]));
  graph_.nodes.push_back({w, inputs, ids, origin_});
  return ids;
}

ValueId GraphBuilder::keep(const TensorData& data, std::string_view name) {
  constexpr size_t kSmall = 4096;
  if (data.bytes().size() <= kSmall) return constant(data, name);
  const ValueId v = new_value(name, data.type());
  graph_.values.back().constant = data;
  return v;
}

ValueId GraphBuilder::add_one(std::string_view op, const AttributeTexts& given, const std::vector<ValueId>& inputs,
                              const std::string& name) {
  const std::vector<ValueId> ids = add(op, given, inputs, {name});
  HONE_ICHECK(ids.size() == 1) << op << " has " << ids.size() << " outputs";
  return ids[0];
}

ValueId GraphBuilder::transpose(ValueId x, const std::vector<int64_t>& perm, const std::string& name) {
  return add_one("transpose", {{"perm", absl::StrJoin(perm, ":")}}, {x}, name);
}

ValueId GraphBuilder::reshape(ValueId x, const std::vector<int64_t>& to, const std::string& name) {
  if (name.empty() && type(x).shape == to) return x;
  return add_one("reshape", {{"to", absl::StrJoin(to, "x")}}, {x}, name);
}

ValueId GraphBuilder::broadcast(ValueId x, const std::vector<int64_t>& to, const std::string& name) {
  return add_one("broadcast", {{"to", absl::StrJoin(to, "x")}}, {x}, name);
}

ValueId GraphBuilder::slice(ValueId x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size,
                            const std::vector<int64_t>& step, const std::string& name) {
  const std::string steps = absl::StrJoin(step.empty() ? std::vector<int64_t>(begin.size(), 1) : step, ":");
  return add_one("slice", {{"begin", absl::StrJoin(begin, ":")}, {"step", steps}, {"size", absl::StrJoin(size, "x")}},
                 {x}, name);
}

ValueId GraphBuilder::pad(ValueId x, const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  const std::vector<int64_t> none(before.size(), 0);
  if (before == none && after == none) return x;
  return add_one("pad", {{"before", absl::StrJoin(before, ":")}, {"after", absl::StrJoin(after, ":")}}, {x});
}

ValueId GraphBuilder::elementwise(std::string_view chain, ValueId x, std::vector<ValueId> operands,
                                  const std::string& name) {
  operands.insert(operands.begin(), x);
  return add_one("elementwise", {{"op", std::string(chain)}}, operands, name);
}

ValueId GraphBuilder::concat(std::vector<ValueId> parts, size_t axis, const std::string& name) {
  constexpr size_t kMostParts = 256;
  const AttributeTexts given{{"axis", std::to_string(axis)}};
  while (parts.size() > kMostParts) {
    std::vector<ValueId> groups;
    for (auto at = parts.begin(); at < parts.end();) {
      const auto end = at + std::min<std::ptrdiff_t>(kMostParts, parts.end() - at);
      groups.push_back(concat({at, end}, axis));
      at = end;
    }
    parts = std::move(groups);
  }
  return parts.size() == 1 ? parts[0] : add_one("concat", given, parts, name);
}

void GraphBuilder::output(const std::string& name, ValueId value, const TensorType& type,
                          std::optional<Port::Extent> extent) {
  graph_.outputs.push_back({name, value, type, extent});
}

void GraphBuilder::tell_extent(size_t axis, ValueId count) {
  graph_.outputs.back().extent = {axis, 0};
  counts_.emplace_back(graph_.outputs.size() - 1, count);
}

std::vector<Port> GraphBuilder::inputs_behind(ValueId v) const {
  std::set<ValueId> reached = {v};
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node)
    if (std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId o) { return reached.contains(o); }))
      reached.insert(node->inputs.begin(), node->inputs.end());
  std::vector<Port> out;
  for (const Port& p : graph_.inputs)
    if (reached.contains(p.value)) out.push_back(p);
  return out;
}

Graph GraphBuilder::take() {
  std::map<ValueId, size_t> outputs;
  for (const auto& [output, count] : counts_) {
    const auto [known, is_new] = outputs.emplace(count, graph_.outputs.size());
    graph_.outputs[output].extent->count = known->second;
    if (!is_new) continue;
    std::string name = graph_.outputs[output].name + ".count";
    const auto is_taken = [&](const Port& p) { return p.name == name; };
    while (std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is_taken)) name += "_";
    this->output(name, count, type(count));
  }
  return std::move(graph_);
}

}  // namespace hone
