#include "db/lock/lock_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/key.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr int64_t kVersion = 1;
constexpr std::string_view kChecksum = " \"checksum\": \"";
constexpr int kMostDepth = 4;

auto key_of(const auto& entry) { return std::tie(entry.workload, entry.target); }

OrderedJson to_json(const std::map<std::string, std::string>& digests) {
  OrderedJson j = OrderedJson::object();
  for (const auto& [name, digest] : digests) j[name] = digest;
  return j;
}

// Members that say nothing are left out.
OrderedJson to_json(const LockedConfig& c) {
  OrderedJson j = {{"workload", c.workload}, {"target", c.target}, {"config", c.config},
                   {"space", c.space},       {"source", c.source}, {"confidence", c.confidence}};
  if (c.is_choice) j["choice"] = true;
  if (!c.in_layout.empty()) j["in_layout"] = c.in_layout;
  if (!c.out_layout.empty()) j["out_layout"] = c.out_layout;
  if (!c.record.empty()) j["record"] = c.record;
  return j;
}

std::string without_checksum(const LockFile& lock) {
  OrderedJson j = {{"hone_lock", kVersion}, {"hone", lock.hone_version}, {"codegen", lock.codegen_version}};
  if (!lock.device_code.empty()) j["device_code"] = lock.device_code;
  j["target"] = lock.target;
  if (!lock.host.empty()) j["host"] = lock.host;
  j["options"] = lock.options;
  j["inputs"] = to_json(lock.inputs);
  j["configs"] = OrderedJson::array();
  for (const LockedConfig& c : lock.configs) j["configs"].push_back(to_json(c));
  j["times"] = OrderedJson::array();
  for (const LockedTime& t : lock.times)
    j["times"].push_back({{"workload", t.workload}, {"target", t.target}, {"seconds", t.seconds}});
  j["artifact"] = to_json(lock.artifact);
  std::string text = json_lines(j);
  return text.substr(0, text.size() - 2);  // the end of its line, and }
}

Status bad(std::string_view why) { return absl::InvalidArgumentError(std::string(why)); }

// The whole as JSON, no deeper than lock files are.
StatusOr<Json> parse_shallow(std::string_view text) {
  bool is_deep = false;
  Json j = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > kMostDepth;
        return !is_deep;
      },
      /*allow_exceptions=*/false);
  if (is_deep || j.is_discarded() || !j.is_object()) return bad("it is no lock file: --lock writes one");
  return j;
}

std::string text_of(const Json& j, const char* member) {
  if (!j.at(member).is_string()) throw std::invalid_argument(fmt::format("'{}' is no text", member));
  const auto& text = j.at(member).get_ref<const std::string&>();
  if (text.size() > kMostTextBytes) throw std::invalid_argument(fmt::format("'{}' is too long", member));
  if (has_controls(text)) throw std::invalid_argument(fmt::format("'{}' has control characters", member));
  return text;
}

std::string optional_text(const Json& j, const char* member) {
  return j.contains(member) ? text_of(j, member) : std::string();
}

const Json& list_of(const Json& j, const char* member) {
  const Json& list = j.at(member);
  if (!list.is_array()) throw std::invalid_argument(fmt::format("'{}' is no list", member));
  if (list.size() > kMostLocked) throw std::invalid_argument(fmt::format("'{}' is too long", member));
  return list;
}

std::map<std::string, std::string> digests_of(const Json& j, const char* member) {
  const Json& object = j.at(member);
  if (!object.is_object()) throw std::invalid_argument(fmt::format("'{}' is no object", member));
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : object.items()) {
    if (has_controls(name) || name.size() > kMostTextBytes || !value.is_string() ||
        !is_sha256_hex(value.get_ref<const std::string&>()))
      throw std::invalid_argument(fmt::format("'{}' has no SHA-256 for '{}'", member, short_line(name, 40)));
    out[name] = value;
  }
  return out;
}

LockedConfig config_of(const Json& j) {
  LockedConfig c;
  c.workload = text_of(j, "workload"), c.target = text_of(j, "target");
  c.config = text_of(j, "config"), c.space = text_of(j, "space");
  c.source = text_of(j, "source"), c.confidence = text_of(j, "confidence");
  c.is_choice = j.contains("choice") && j.at("choice").get<bool>();
  c.in_layout = optional_text(j, "in_layout"), c.out_layout = optional_text(j, "out_layout");
  c.record = optional_text(j, "record");
  if (!c.record.empty() && !is_sha256_hex(c.record)) throw std::invalid_argument("a record has no SHA-256");
  return c;
}

LockFile lock_of(const Json& j) {
  LockFile lock;
  lock.hone_version = text_of(j, "hone"), lock.codegen_version = text_of(j, "codegen");
  lock.device_code = optional_text(j, "device_code");
  lock.target = text_of(j, "target"), lock.host = optional_text(j, "host");
  for (const Json& option : list_of(j, "options")) lock.options.push_back(option.get<std::string>());
  lock.inputs = digests_of(j, "inputs");
  for (const Json& c : list_of(j, "configs")) lock.configs.push_back(config_of(c));
  for (const Json& t : list_of(j, "times")) {
    lock.times.push_back({text_of(t, "workload"), text_of(t, "target"), t.at("seconds").get<double>()});
    if (!believable(lock.times.back().seconds)) throw std::invalid_argument("a time cannot be true");
  }
  lock.artifact = digests_of(j, "artifact");
  return lock;
}

bool is_twice(const auto& entries) {
  const auto same = [](const auto& a, const auto& b) { return key_of(a) == key_of(b); };
  return std::adjacent_find(entries.begin(), entries.end(), same) != entries.end();
}

// nlohmann's messages begin with "[json.exception.type_error.302] ".
std::string plain(const std::string& what) {
  const size_t end = what.find("] ");
  return clean_line(!what.empty() && what[0] == '[' && end != std::string::npos ? what.substr(end + 2) : what);
}

StatusOr<LockFile> lock_of_text(std::string_view text) {
  HONE_ASSIGN_OR_RETURN(const Json j, parse_shallow(text));
  if (!j.contains("hone_lock") || !j["hone_lock"].is_number_integer())
    return bad("it is no lock file: --lock writes one");
  if (const auto version = j["hone_lock"].get<int64_t>(); version != kVersion)
    return bad(
        fmt::format("it is of format {}, and this Hone reads {}; write it again with --lock", version, kVersion));
  try {
    LockFile lock = lock_of(j);
    if (is_twice(lock.configs) || is_twice(lock.times)) return bad("a layer is there twice");
    if (to_text(lock) != text) return bad("it is not as --lock wrote it (edited, merged or cut?); write it again");
    return lock;
  } catch (const std::exception& e) {
    return bad(plain(e.what()));
  }
}

}  // namespace

std::string record_digest(const BestRow& r) {
  const OrderedJson identity = {r.session,   r.seq,        r.candidate,     r.workload,          r.target, r.space,
                                r.in_layout, r.out_layout, r.template_name, r.template_revision, r.config, r.seconds};
  return sha256_hex(json_line(identity));
}

std::string to_text(const LockFile& given) {
  LockFile lock = given;
  std::sort(lock.options.begin(), lock.options.end());
  const auto by_key = [](const auto& a, const auto& b) { return key_of(a) < key_of(b); };
  std::sort(lock.configs.begin(), lock.configs.end(), by_key);
  std::sort(lock.times.begin(), lock.times.end(), by_key);
  const std::string text = without_checksum(lock);
  return fmt::format("{},\n{}{}\"\n}}\n", text, kChecksum, sha256_hex(text));
}

StatusOr<LockFile> parse_lock(std::string_view text, const std::string& name) {
  StatusOr<LockFile> lock = lock_of_text(text);
  if (!lock.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", clean_line(name), message_of(lock.status())));
  return lock;
}

StatusOr<LockFile> read_lock(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(path, kMostLockBytes));
  return parse_lock(text, path);
}

}  // namespace hone::db
