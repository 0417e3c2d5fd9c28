// The definitions of users' operators that are known, by their hashes: what a workload's text names and does not say.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "compiler/ops/definition.h"

namespace hone {

/// Whoever comes to a definition adds it: a file of operators, a caller's function, a pass that joins two. Workloads
/// that are made of texts later (of a tophub, of a graph's text) find it here. May be used from several threads.
class UserDefinitions {
 public:
  /// Adds it under the hash of its text, once, and returns the hash.
  std::string add(const Definition& definition);
  /// Null where none has this hash.
  std::shared_ptr<const Definition> find(std::string_view hash) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Definition>, std::less<>> by_hash_;
};

}  // namespace hone
