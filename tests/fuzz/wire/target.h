// A target of fuzzing: where its bytes come in, as which message they mutate, with which they begin.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::fuzz {

/// Ends the process (HONE_ICHECK, a sanitizer) when something that must hold does not.
struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
  /// Valid inputs, made by code, the same every time.
  std::vector<std::string> (*seeds)();
  /// An empty message that inputs are mutated as; null: they are only bytes.
  std::unique_ptr<google::protobuf::Message> (*form)();
  /// Names and ids that the target knows.
  std::vector<std::string> (*words)();
};

/// All of them.
std::span<const Target> targets();
/// Null when there is none.
const Target* find_target(std::string_view name);

extern const Target kAgentStream, kSessionStream, kOutside, kToAgent, kToSession, kFrames;

}  // namespace hone::fuzz
