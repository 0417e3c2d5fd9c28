#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <mutex>

#include "base/text.h"

namespace hone {
namespace {

// The line's text without commands to a terminal: names, paths and messages come from elsewhere.
class CleanText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& msg, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = clean_lines({msg.payload.data(), msg.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<CleanText>(); }
};

}  // namespace

void init_log(const std::string& program, const std::string& level) {
  const bool colour = std::getenv("NO_COLOR") == nullptr;
  auto logger = std::make_shared<spdlog::logger>(
      program, std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour ? spdlog::color_mode::automatic
                                                                            : spdlog::color_mode::never));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<CleanText>('*').set_pattern("[%H:%M:%S.%e] %^%l%$ %n: %*");
  logger->set_formatter(std::move(formatter));
  const char* env = std::getenv("HONE_LOG");
  const std::string wanted = !level.empty() ? level : env ? env : "warn";
  logger->set_level(spdlog::level::from_str(wanted));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void init_library_log(const std::string& library) {
  static std::once_flag once;
  std::call_once(once, [&] {
    // spdlog's own has no name.
    if (spdlog::default_logger() && spdlog::default_logger()->name().empty()) init_log(library);
  });
}

}  // namespace hone
