// The pages of a team's tophub: questions and answers over a TeamStore. Bodies are those of db/team/team_json.h and
// db/record_lines.h; errors are {"error": one line}.
//
//   POST /v1/ask       a query; its answer                                              tuner, admin
//   POST /v1/push      lines of an export; how many rows were new, all of them durable  tuner, admin
//   POST /v1/covered   a query; which of its keys have a best here (no miss is counted) tuner, admin
//   GET  /v1/prior     ?kind=&schema=; the prior, or null                               tuner, admin
//   GET  /v1/misses    ?kind=&limit=; what was asked for in vain                        tuner, admin
//   GET  /v1/coverage  ?contains=&limit=&workload=&target=&owner=; lines from behind these on
//   GET  /v1/export    lines of an export: everybody's rows                             admin
//   POST /v1/remove    {"tenant": …}: its rows go; how many trials went                 admin
//   GET  /v1/whoami    who the asker is taken for
//   GET  /healthz, /metrics, /
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "db/record_lines.h"
#include "db/team/team_store.h"
#include "rpc/gate/rejections.h"
#include "rpc/http/http.h"

namespace hone::hub {

inline constexpr uint64_t kMostPushBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMostAskBytes = uint64_t{4} << 20;

struct HubOptions {
  /// Unix time in ms: the service dates nothing by its askers' clocks.
  std::function<int64_t()> now_ms;
  db::PriorCheck check_prior = nullptr;                    ///< empty: priors are taken unseen
  std::string scratch;                                     ///< the folder where an export is written before it is sent
  std::shared_ptr<gate::Rejections> rejections = nullptr;  ///< for /metrics; null: none are counted
};

/// `store` outlives the pages.
http::HttpPages hub_pages(db::TeamStore& store, HubOptions options);

}  // namespace hone::hub
