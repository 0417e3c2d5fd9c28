#include "compiler/ops/user_definitions.h"

#include "base/key.h"
#include "compiler/ops/definition_text.h"

namespace hone {

std::string UserDefinitions::add(const Definition& definition) {
  std::string hash = key_hash(definition_to_text(definition));
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<const Definition>& at = by_hash_[hash]; !at) at = std::make_shared<const Definition>(definition);
  return hash;
}

std::shared_ptr<const Definition> UserDefinitions::find(std::string_view hash) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_hash_.find(hash);
  return it == by_hash_.end() ? nullptr : it->second;
}

}  // namespace hone
