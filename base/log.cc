#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

namespace hone {

void init_log(const std::string& program, const std::string& level) {
  const bool colour = std::getenv("NO_COLOR") == nullptr;
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
                                                              colour ? spdlog::color_mode::automatic : spdlog::color_mode::never));
  logger->set_pattern("[%H:%M:%S.%e] %^%l%$ %n: %v");
  const char* env = std::getenv("HONE_LOG");
  const std::string wanted = !level.empty() ? level : env ? env : "warn";
  logger->set_level(spdlog::level::from_str(wanted));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace hone
