// Compiles candidates of a search one after another: functions that they share are compiled once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/lru.h"
#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// Objects keyed by the code that they were compiled from. Beyond its limit the cache drops the least recently used
/// ones.
class ObjectCache {
 public:
  /// `max_bytes`: of keys and objects together.
  explicit ObjectCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Null when there is none.
  std::shared_ptr<const std::string> find(const std::string& key);
  /// An object larger than the limit is not kept. A key that is there keeps its object.
  void insert(std::string key, std::shared_ptr<const std::string> object);
  size_t bytes() const { return objects_.weight(); }

 private:
  const size_t max_bytes_;
  Lru<std::string, std::shared_ptr<const std::string>> objects_;
};

/// Not thread-safe.
class CandidateCompiler {
 public:
  /// Keeps at most `cache_bytes` of compiled objects: some thousand functions.
  explicit CandidateCompiler(size_t cache_bytes = 32 << 20);
  ~CandidateCompiler();

  /// The code of emit_object() as objects to be linked together: the kernels, the bodies of their parallel loops, the
  /// prepacks. A body or a prepack that an earlier Module had too is not compiled again: candidates of a search differ
  /// only in some of their loops. Throws as emit_object() does.
  std::vector<std::string> compile(const Module& m, const Target& target, const CodegenOptions& options = {});

  /// How many functions were compiled, and how many had been compiled before.
  struct Counts {
    int64_t compiled = 0, reused = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Machine;
  Machine& machine_of(const Target& target);

  std::unique_ptr<Machine> machine_;  ///< of the last target
  ObjectCache cache_;
  Counts counts_;
};

}  // namespace hone
