// A model of the instructions of registers of tiles (TileCode::kModel), for processors without them: each thread has
// eight tiles and a configuration. Faults of the instructions are counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/target/target.h"

namespace hone {

struct TileCounts {
  int64_t products = 0, loads = 0, stores = 0, configurations = 0, releases = 0, requests = 0;
};

/// As after the begin of a process, but for what other threads have configured: no permission was asked for, and
/// `allows` says how that will be answered.
void reset_tile_model(bool allows = true);

/// Since the last reset, of all threads.
TileCounts tile_counts();
/// The faults that the instructions would have had, a line each.
std::vector<std::string> tile_faults();

/// This thread's configuration: 64 bytes. Zeros: none.
std::vector<uint8_t> tile_config();
void set_tile_config(const std::vector<uint8_t>& config);

/// This machine with tiles.
Target target_with_tiles(int threads = 2);

}  // namespace hone
