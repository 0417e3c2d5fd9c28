#include "compiler/ops/user_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/key.h"
#include "base/text.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// As docs/keys.md has it.
constexpr char kUserOperator[] = "op";
constexpr size_t kOwnAttributes = 2;  // name and def

// Any text; but a name is the operator's.
AttributeParser any_user_text(std::string_view attribute, std::string_view name) {
  return [is_name = attribute == "name", name = std::string(name)](std::string_view text, const AttributeContext&) {
    HONE_USER_CHECK(!is_name || text == name) << "the operator '" << clean_line(text) << "' is not " << name;
    return ParsedAttribute{std::string(text), std::string(text)};
  };
}

bool is_operator_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Also the word that keys begin with.
bool is_of_hone(std::string_view name) {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> all{kUserOperator};
    const OperatorTable operators = standard_operators();
    for (const auto& row : operators.rows()) all.insert(row->name);
    return all;
  }();
  return names.contains(name);
}

}  // namespace

Workload user_workload(std::string_view name, const Definition& definition,
                       const std::vector<std::pair<std::string, std::string>>& attributes,
                       std::shared_ptr<const UserTemplate> own) {
  HONE_USER_CHECK(is_operator_word(name))
      << "'" << clean_line(name) << "' is no name of an operator: letters, digits and _";
  HONE_USER_CHECK(!is_of_hone(name)) << "'" << name << "' is an operator of Hone's: the template needs another name";
  Operator op;
  op.name = kUserOperator;
  op.summary = "defined by its user";
  op.user.definition = definition_to_text(definition);
  op.user.own = std::move(own);
  std::string text = fmt::format("{}(name={},def={}", kUserOperator, name, key_hash(op.user.definition));
  op.attributes = {{"name", "", any_user_text("name", name)}, {"def", "", any_user_text("def", name)}};
  for (const auto& [attribute, value] : attributes) {
    op.attributes.push_back({attribute, "", any_user_text(attribute, name)});
    text += fmt::format(",{}={}", attribute, value);
  }
  text += ")";
  const StatusOr<WorkloadKey> key = parse_workload_key(text);
  HONE_USER_CHECK(key.ok()) << message_of(key.status());
  HONE_USER_CHECK(to_string(*key) == text) << text << " would be stored as " << to_string(*key);
  op.shape = [](const Attributes&) { return std::any(); };
  op.define = [definition](const Workload&) { return definition; };
  op.flops = [operations = operations_of(definition)](const Workload&) { return operations; };
  return Workload::parse_of(std::make_shared<const Operator>(std::move(op)), text);
}

Workload user_workload(const OperatorTable& operators, std::string_view name, const Definition& definition,
                       const std::vector<std::pair<std::string, std::string>>& attributes) {
  operators.definitions().add(definition);
  return user_workload(name, definition, attributes, nullptr);
}

std::string operator_word(std::string_view name) {
  std::string word;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_separator = name.substr(i, 2) == "::";
    word += is_separator ? "__" : is_operator_word("_" + std::string(1, name[i])) ? std::string(1, name[i]) : "_";
    i += is_separator ? 1 : 0;
  }
  return is_operator_word(word) && !is_of_hone(word) ? word : "_" + word;
}

bool is_user_operator(std::string_view text) { return text.substr(0, text.find('(')) == kUserOperator; }

bool is_user_operator(const Workload& w) { return !w.op->user.definition.empty(); }

const UserTemplate* user_template(const Workload& w) { return w.op->user.own.get(); }

std::string_view user_definition(const Workload& w) { return w.op->user.definition; }

std::string user_label(const Workload& w) {
  std::string out = w.attributes.text("name");
  size_t n = 0;
  for (const Attributes::Item& a : w.attributes)
    if (n++ >= kOwnAttributes) out += fmt::format("{}{}={}", n == kOwnAttributes + 1 ? " " : ",", a.name, a.text);
  return out;
}

}  // namespace hone
