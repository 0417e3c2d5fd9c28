#include "compiler/ops/workload.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/near_name.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

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

// `task(args)`
std::pair<std::string, std::string> split_call(std::string_view text) {
  const std::string whole = trimmed(text);
  const size_t open = whole.find('(');
  HONE_USER_CHECK(open != std::string::npos && whole.back() == ')')
      << "workload '" << whole << "' is not of the form task(attribute=value,...)";
  return {trimmed(std::string_view(whole).substr(0, open)), whole.substr(open + 1, whole.size() - open - 2)};
}

// The attributes that `args` gives, the operator's defaults for the others.
Texts texts_of(const Operator& op, std::string_view args) {
  Texts texts;
  for (const Attribute& a : op.attributes) texts.emplace_back(a.name, a.fallback);
  std::vector<std::string> seen;
  const std::string trimmed_args = trimmed(args);
  for (const std::string& item : trimmed_args.empty() ? std::vector<std::string>{} : split_text(trimmed_args, ',')) {
    const size_t eq = item.find('=');
    const std::string name = trimmed(item.substr(0, eq)),
                      value = eq == std::string::npos ? "" : trimmed(item.substr(eq + 1));
    std::string* attribute = find_text(texts, name);
    if (!attribute) {
      std::vector<std::string> names;
      for (const auto& [n, v] : texts) names.push_back(n);
      const std::string meant = did_you_mean(name, names);
      throw UserError(fmt::format("{}: unknown attribute '{}'{} it has {}", op.name, name, meant.empty() ? ";" : meant,
                                  fmt::join(names, ", ")));
    }
    HONE_USER_CHECK(std::find(seen.begin(), seen.end(), name) == seen.end())
        << op.name << ": attribute '" << name << "' is given twice";
    HONE_USER_CHECK(!value.empty()) << op.name << ": attribute '" << name << "' has no value";
    seen.push_back(name);
    *attribute = value;
  }
  return texts;
}

}  // namespace

const std::string& Workload::task() const { return op->name; }

Workload Workload::parse(const OperatorTable& operators, std::string_view text) {
  const auto [task, args] = split_call(text);
  return parse(operators, task, args);
}

Workload Workload::parse(const OperatorTable& operators, std::string_view task, std::string_view args) {
  const std::shared_ptr<const Operator> op = operators.find(task);
  HONE_USER_CHECK(op) << "unknown task '" << task << "'" << operators.instead_of(task);
  Workload w = read(op, texts_of(*op, args));
  if (!op->respell) return w;
  const std::optional<Spelling> other = op->respell(w.attributes);
  return other ? read(operators.find(other->op), other->attributes) : w;
}

Workload Workload::parse_of(std::shared_ptr<const Operator> op, std::string_view text) {
  const auto [task, args] = split_call(text);
  HONE_USER_CHECK(task == op->name) << "task '" << task << "' is not " << op->name;
  Texts texts = texts_of(*op, args);
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

std::string to_string(const Workload& w) { return fmt::format("{}({})", w.task(), args_of(w)); }

double flops(const Workload& w) { return w.op->flops(w); }

}  // namespace hone
