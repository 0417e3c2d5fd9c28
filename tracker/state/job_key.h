// A job's identity: its session and its number there.
#pragma once

#include "rpc/wire/messages/messages.h"

namespace hone::tracker {

struct JobKey {
  wire::Uuid session;
  uint64_t seq = 0;
  auto operator<=>(const JobKey&) const = default;
};

inline JobKey key_of(const wire::LeaseId& id) { return {id.session, id.seq}; }

}  // namespace hone::tracker

template <>
struct std::hash<hone::tracker::JobKey> {
  size_t operator()(const hone::tracker::JobKey& k) const {
    return std::hash<hone::wire::Uuid>()(k.session) ^ (k.seq * 0x9e3779b97f4a7c15ULL);
  }
};
