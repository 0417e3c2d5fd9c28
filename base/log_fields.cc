#include "base/log_fields.h"

#include <fmt/chrono.h>
#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/json.h"

namespace hone::log {
namespace {

// Separators between the message and its fields, and between a key and its value, on the way through spdlog. Neither
// occurs in text.
constexpr char kField = '\x1e', kValue = '\x1f';
// Marks lines of events. Other lines have no fields, even if their text looks like some.
constexpr char kEvent[] = "event";

std::string in_line(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return out;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& dest) override {
    OrderedJson line;
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(msg.time.time_since_epoch()).count();
    line["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                               fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)), milliseconds % 1000);
    line["level"] = std::string(spdlog::level::to_string_view(msg.level).data());
    line["program"] = std::string(msg.logger_name.data(), msg.logger_name.size());
    std::string_view rest(msg.payload.data(), msg.payload.size());
    const bool has_fields = msg.source.funcname == kEvent;
    line["message"] = std::string(rest.substr(0, has_fields ? rest.find(kField) : rest.npos));
    while (has_fields && rest.find(kField) != rest.npos) {
      rest.remove_prefix(rest.find(kField) + 1);
      const std::string_view field = rest.substr(0, rest.find(kField));
      const size_t value = field.find(kValue);
      line[std::string(field.substr(0, value))] = std::string(field.substr(value + 1));
    }
    const std::string text = json_line(line) + "\n";
    dest.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

std::atomic<bool> json{false};

}  // namespace

void event(Level level, std::string_view what, std::initializer_list<Field> fields) {
  if (!spdlog::should_log(level)) return;
  const bool as_json = json;
  std::string line(in_line(what));
  for (const Field& field : fields) {
    std::string value = in_line(field.value);
    if (as_json) {
      line += kField + std::string(field.key) + kValue + value;
      continue;
    }
    const bool bare = !value.empty() && value.find_first_of(" \"=") == value.npos;
    line += fmt::format(" {}={}", field.key, bare ? value : json_line(Json(value)));
  }
  spdlog::log(spdlog::source_loc{__FILE__, __LINE__, kEvent}, level, "{}", line);
}

void use_json() {
  json = true;
  spdlog::default_logger()->set_formatter(std::make_unique<JsonFormatter>());
}

}  // namespace hone::log
