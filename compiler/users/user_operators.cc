#include "compiler/users/user_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/key.h"
#include "base/plain_file.h"
#include "base/text.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/rewrite/compose.h"
#include "compiler/users/check_definition.h"

namespace hone {
namespace {

constexpr std::string_view kFormat = "hone operators ", kVersion = "1";
constexpr int64_t kMostBytes = int64_t{1} << 28;
constexpr size_t kMostNested = 8192;  // of a line: definition_from_text() takes expressions 2100 deep
constexpr size_t kMostName = 300, kMostInputs = 256, kMostAttributes = 256, kMostElements = 4096;

// Before it is parsed: what destroys a value walks down all of it.
void check_nesting(const std::string& line) {
  size_t depth = 0;
  bool is_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (is_text && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      is_text = !is_text;
    else if (!is_text && (line[i] == '[' || line[i] == '{'))
      HONE_USER_CHECK(++depth <= kMostNested) << "it is nested too deep";
    else if (!is_text && (line[i] == ']' || line[i] == '}') && depth > 0)
      --depth;
  }
}

void check_attribute(const std::string& name, const Json& value) {
  const auto is_plain = [](const Json& v) { return v.is_number() || v.is_string(); };
  const bool is_list =
      value.is_array() && value.size() <= kMostElements && std::all_of(value.begin(), value.end(), is_plain);
  HONE_USER_CHECK(is_plain(value) || is_list)
      << "attribute '" << clean_line(name) << "' is no number, text or list of these";
}

Json types_json(const std::vector<std::optional<TensorType>>& inputs) {
  Json out = Json::array();
  for (const auto& t : inputs) out.push_back(t ? Json{to_string(t->dtype), t->shape} : Json(nullptr));
  return out;
}

std::vector<std::optional<TensorType>> types_from(const Json& j) {
  HONE_USER_CHECK(j.is_array() && j.size() <= kMostInputs) << "its inputs are no list of at most " << kMostInputs;
  std::vector<std::optional<TensorType>> out;
  for (const Json& t : j) {
    out.emplace_back();
    if (t.is_null()) continue;
    const bool is_type = t.is_array() && t.size() == 2 && t[0].is_string() && t[1].is_array() &&
                         std::all_of(t[1].begin(), t[1].end(), [](const Json& n) { return n.is_number_integer(); });
    HONE_USER_CHECK(is_type) << "input " << out.size() - 1 << " is no type, [\"f32\", [2, 3]]";
    const auto shape = t[1].get<std::vector<int64_t>>();
    HONE_USER_CHECK(std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n > 0; }))
        << "input " << out.size() - 1 << " has the shape " << t[1].dump() << "; extents are numbers from 1";
    out.back() = TensorType{parse_dtype(t[0].get<std::string>()), shape};
  }
  return out;
}

std::string key_of(const OperatorCall& call) {
  return json_line(Json{call.op, call.attributes, types_json(call.inputs)});
}

std::string types_text(const std::vector<std::optional<TensorType>>& inputs) {
  std::vector<std::string> texts;
  for (const auto& t : inputs) texts.push_back(t ? to_string(*t) : "none");
  return fmt::format("({})", fmt::join(texts, ", "));
}

OperatorCall call_from(const Json& j) {
  OperatorCall call;
  call.op = j.at("operator").get<std::string>();
  HONE_USER_CHECK(!call.op.empty() && call.op.size() <= kMostName && !has_controls(call.op))
      << "'" << short_line(call.op, kMostName) << "' is no name of an operator";
  call.attributes = j.at("attributes");
  HONE_USER_CHECK(call.attributes.is_object() && call.attributes.size() <= kMostAttributes)
      << "its attributes are no object of at most " << kMostAttributes;
  for (const auto& [name, value] : call.attributes.items()) check_attribute(name, value);
  call.inputs = types_from(j.at("inputs"));
  return call;
}

// The inputs of the definition are those that the call has, in order.
void check_inputs(const OperatorCall& call, const Definition& d) {
  std::vector<std::optional<TensorType>> given, own;
  for (const auto& t : call.inputs)
    if (t) given.push_back(t);
  for (const auto& [tensor, role] : d.inputs) own.push_back(TensorType{tensor->buffer->dtype, tensor->shape});
  HONE_USER_CHECK(given == own) << "its definition is of " << types_text(own) << ", not of " << types_text(given);
}

// Whether a pattern with `*` for any letters fits all of the text.
bool fits(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

std::string operator_name(std::string_view domain, std::string_view type) {
  return domain.empty() ? std::string(type) : fmt::format("{}::{}", domain, type);
}

void UserOperators::add(const OperatorCall& call, const std::string& text, const std::string& hash) {
  Instance made;
  const Definition d = with_plain_names(definition_from_text(text));
  const std::string canonical = definition_to_text(d);
  HONE_USER_CHECK(hash.empty() || hash == key_hash(canonical)) << "its hash is not that of its definition";
  check_inputs(call, d);
  check_definition(d);
  made.definition = std::make_shared<const Definition>(d);
  OrderedJson line;
  line["operator"] = call.op;
  line["attributes"] = OrderedJson::parse(json_line(call.attributes));
  line["inputs"] = OrderedJson::parse(json_line(types_json(call.inputs)));
  line["hash"] = key_hash(canonical);
  line["definition"] = OrderedJson::parse(canonical);
  made.line = json_line(line);
  const auto [at, is_new] = by_key_.try_emplace(key_of(call), made);
  HONE_USER_CHECK(is_new || at->second.line == made.line)
      << "there are two definitions of " << call.op << " for " << types_text(call.inputs);
  names_.insert(call.op);
}

void UserOperators::add_line(const std::string& line) try {
  check_nesting(line);
  const Json j = Json::parse(line);
  const auto hash = j.at("hash").get<std::string>();
  HONE_USER_CHECK(is_key_hash(hash)) << "'" << short_line(hash, kMostName) << "' is no hash";
  add(call_from(j), json_line(j.at("definition")), hash);
} catch (const Json::parse_error& e) {
  throw UserError(fmt::format("the line is no object of JSON: it cannot be read from its column {} on", e.byte));
} catch (const Json::exception&) {
  throw UserError(
      "the line is no definition: an object of 'operator' (a text), 'attributes' (an object), 'inputs' (a list of "
      "[\"f32\", [2, 3]] and null), 'hash' (a text) and 'definition' (an object)");
}

void UserOperators::read(const std::string& path) {
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  HONE_USER_CHECK(text.ok()) << message_of(text.status());
  std::string_view rest = *text;
  const auto next_line = [&] {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    if (line.ends_with('\r')) line.pop_back();  // a file that went through a Windows machine
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  const std::string head = next_line();
  HONE_USER_CHECK(head.starts_with(kFormat))
      << path << ": it is no file of operators: its first line is not '" << kFormat << kVersion << "'";
  HONE_USER_CHECK(head == std::string(kFormat) + std::string(kVersion))
      << path << ": it is of version " << short_line(head.substr(kFormat.size()), 20) << "; this is read: " << kVersion;
  for (int number = 2; !rest.empty(); ++number) {
    const std::string line = next_line();
    if (line.empty() || line.starts_with('#')) continue;
    try {
      add_line(line);
    } catch (const UserError& e) {
      throw UserError(fmt::format("{}:{}: {}", path, number, e.what()));
    }
  }
  files_.push_back(path);
}

void UserOperators::answer_by(Ask ask) {
  ask_ = std::move(ask);
  try {
    for (const Json& one : Json::parse(ask_(R"({"operators":true})"))) {
      const auto name = (one.is_object() ? one.at("name") : one).get<std::string>();
      names_.insert(name);
      answered_.insert(name);
      const std::string file = one.is_object() ? one.value("file", std::string()) : "";
      const bool is_new = std::find(answered_files_.begin(), answered_files_.end(), file) == answered_files_.end();
      if (!file.empty() && is_new) answered_files_.push_back(file);
    }
  } catch (const Json::exception& e) {
    throw UserError("the answer about operators is none: " + short_line(e.what(), kMostName));
  }
}

void UserOperators::replace(std::string pattern, std::string op) {
  replacements_.push_back({std::move(pattern), std::move(op)});
}

std::string UserOperators::replacement(std::string_view node, std::string_view type) {
  for (Replacement& r : replacements_) {
    const bool is_type = r.pattern.find("::") != std::string::npos;
    if (is_type ? r.pattern != type : !fits(r.pattern, node)) continue;
    r.is_used = true;
    return r.op;
  }
  return "";
}

std::string UserOperators::which_there_are(const OperatorCall& call) const {
  constexpr size_t kMostListed = 3;
  std::vector<std::string> known;
  for (const auto& [key, instance] : by_key_) {
    const Json j = Json::parse(key);
    if (j[0] != call.op) continue;
    const std::string attributes = j[1] == call.attributes ? "" : " with " + json_line(j[1]);
    known.push_back(types_text(types_from(j[2])) + attributes);
  }
  const size_t all = known.size();
  known.resize(std::min(all, kMostListed));
  std::vector<std::string> files;
  for (const std::string& f : files_) files.push_back(std::filesystem::path(f).filename().string());
  return fmt::format("{} has it for {}{}", files.empty() ? "nothing" : fmt::format("{}", fmt::join(files, ", ")),
                     fmt::join(known, " and "),
                     all > kMostListed ? fmt::format(" and {} more", all - kMostListed) : "");
}

std::shared_ptr<const Definition> UserOperators::definition(const OperatorCall& call) {
  const std::lock_guard lock(asking_);
  used_.insert(call.op);
  const std::string key = key_of(call);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    known->second.is_used = true;
    return known->second.definition;
  }
  if (!ask_ || !answered_.contains(call.op)) {
    const std::string with = call.attributes.empty() ? "" : " with " + json_line(call.attributes);
    throw UserError(fmt::format("no definition for {}{}: {}; hone.save_operators adds it", types_text(call.inputs),
                                with, which_there_are(call)));
  }
  Json question = {
      {"operator", call.op}, {"node", call.node}, {"attributes", call.attributes}, {"inputs", types_json(call.inputs)}};
  try {
    const Json answer = Json::parse(ask_(json_line(question)));
    if (answer.contains("error")) throw UserError(clean_line(answer["error"].get<std::string>()));
    add(call, answer.at("definition").get<std::string>(), "");
  } catch (const Json::exception& e) {
    throw UserError("the answer about " + call.op + " is none: " + short_line(e.what(), kMostName));
  }
  Instance& made = by_key_.at(key);
  made.is_used = true;
  return made.definition;
}

std::string UserOperators::used_text() const {
  std::string out = std::string(kFormat) + std::string(kVersion) + "\n";
  for (const auto& [key, instance] : by_key_)
    if (instance.is_used) out += instance.line + "\n";
  return out;
}

std::vector<std::string> UserOperators::unused() const {
  std::vector<std::string> out;
  for (const std::string& name : names_)
    if (!used_.contains(name)) out.push_back(name);
  return out;
}

std::vector<std::string> UserOperators::unused_patterns() const {
  std::vector<std::string> out;
  for (const Replacement& r : replacements_)
    if (!r.is_used) out.push_back(r.pattern);
  return out;
}

}  // namespace hone
