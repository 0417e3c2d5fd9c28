#include "compiler/ops/workload.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/key.h"
#include "base/near_name.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

std::string* find_text(Texts& texts, std::string_view name) {
  const auto it = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == name; });
  return it == texts.end() ? nullptr : &it->second;
}

// `texts` has every attribute of the operator, in its order.
Workload read(std::shared_ptr<const Operator> op, const Texts& texts) {
  Workload w;
  w.op = std::move(op);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto& [name, text] = texts[i];
    ParsedAttribute parsed = w.op->attributes[i].parse(text, {w.op->name, name, w.attributes});
    w.attributes.add({name, std::move(parsed.text), std::move(parsed.value)});
  }
  w.shape = w.op->shape(w.attributes);
  return w;
}

// Refuses parts of the keys' grammar that no operator here supports; see docs/keys.md.
void refuse_ranges(const WorkloadKey& key) {
  for (const KeyAttribute& a : key.attributes)
    HONE_USER_CHECK(!has_range(a.value)) << a.name << "=" << to_string(a.value)
                                         << ": ranges are not supported by this version";
}

WorkloadKey key_of(StatusOr<WorkloadKey> key) {
  HONE_USER_CHECK(key.ok()) << message_of(key.status());
  return *std::move(key);
}

// How products of f32 are computed, for every operator: one way here, which canonical texts do not say.
bool is_math_of_today(const KeyAttribute& a) {
  if (a.name != "math") return false;
  HONE_USER_CHECK(to_string(a.value) == "f32")
      << "math=" << to_string(a.value) << " is not supported by this version; allowed: f32";
  return true;
}

// The attributes that the key gives, the operator's defaults for the others.
Texts texts_of(const Operator& op, const WorkloadKey& key) {
  refuse_ranges(key);
  Texts texts;
  for (const Attribute& a : op.attributes) texts.emplace_back(a.name, a.fallback);
  for (const KeyAttribute& given : key.attributes) {
    if (std::string* text = find_text(texts, given.name)) {
      *text = to_string(given.value);
    } else if (!is_math_of_today(given)) {
      std::vector<std::string> names;
      for (const auto& [n, v] : texts) names.push_back(n);
      const std::string meant = did_you_mean(given.name, names);
      throw UserError(fmt::format("{}: unknown attribute '{}'{} it has {}", op.name, given.name,
                                  meant.empty() ? ";" : meant, fmt::join(names, ", ")));
    }
  }
  return texts;
}

// op(name=NAME,def=HASH,...): the key's grammar has put these two first.
Workload parse_user_key(const OperatorTable& operators, const WorkloadKey& key) {
  const std::string name = to_string(key.attributes[0].value);
  const auto definition = operators.definitions().find(to_string(key.attributes[1].value));
  HONE_USER_CHECK(definition) << "op(name=" << name << ",...): an operator that its user defines: its definition is in "
                              << "a file of --operators, or in his program";
  Texts attributes;
  for (size_t a = 2; a < key.attributes.size(); ++a)
    attributes.emplace_back(key.attributes[a].name, to_string(key.attributes[a].value));
  return user_workload(operators, name, *definition, attributes);
}

Workload parse_key(const OperatorTable& operators, const WorkloadKey& key) {
  if (key.name == "op") return parse_user_key(operators, key);
  const std::shared_ptr<const Operator> op = operators.find(key.name);
  HONE_USER_CHECK(op) << "unknown task '" << key.name << "'" << operators.instead_of(key.name);
  Workload w = read(op, texts_of(*op, key));
  if (!op->respell) return w;
  const std::optional<Spelling> other = op->respell(w.attributes);
  return other ? read(operators.find(other->op), other->attributes) : w;
}

}  // namespace

const std::string& Workload::operator_name() const { return op->name; }

Workload Workload::parse(const OperatorTable& operators, std::string_view text) {
  return parse_key(operators, key_of(parse_workload_key(text)));
}

Workload Workload::parse(const OperatorTable& operators, std::string_view task, std::string_view args) {
  return parse_key(operators, key_of(parse_workload_key(task, args)));
}

Workload Workload::parse_of(std::shared_ptr<const Operator> op, std::string_view text) {
  const WorkloadKey key = key_of(parse_workload_key(text));
  HONE_USER_CHECK(key.name == op->name) << "task '" << key.name << "' is not " << op->name;
  Texts texts = texts_of(*op, key);
  return read(std::move(op), texts);
}

Workload Workload::changed(const Workload& w, std::span<const std::pair<std::string, std::string>> values) {
  Texts texts;
  for (const Attributes::Item& a : w.attributes) texts.emplace_back(a.name, a.text);
  for (const auto& [name, value] : values)
    if (std::string* text = find_text(texts, name)) *text = value;
  return read(w.op, texts);
}

std::string args_of(const Workload& w) {
  std::vector<std::string> args;
  auto attribute = w.op->attributes.begin();
  for (const Attributes::Item& a : w.attributes) {
    if (!attribute->is_optional || a.text != attribute->fallback) args.push_back(a.name + "=" + a.text);
    ++attribute;
  }
  return absl::StrJoin(args, ",");
}

std::string to_string(const Workload& w) { return fmt::format("{}({})", w.operator_name(), args_of(w)); }

double flops(const Workload& w) { return w.op->flops(w); }

}  // namespace hone
