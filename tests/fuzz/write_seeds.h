// A fuzzer's flag `--seeds FOLDER`: writes its first inputs, and ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::fuzz {

inline void write_seeds_where_asked(int argc, char** argv, const std::vector<std::string>& seeds) {
  if (argc != 3 || std::string_view(argv[1]) != "--seeds") return;
  const std::filesystem::path folder = argv[2];
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seeds)
    std::ofstream(folder / ("seed-" + std::to_string(++number)), std::ios::binary) << seed;
  std::exit(0);
}

}  // namespace hone::fuzz
