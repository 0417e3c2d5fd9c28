// Writes the seeds of fuzz_modules, one file each, into a folder.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/corpus.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_corpus FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  int n = 0;
  for (const std::string& bytes : hone::fuzz::corpus()) {
    std::ofstream out(folder / ("seed" + std::to_string(n++)), std::ios::binary);
    if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
      std::cerr << "cannot write to " << folder << "\n";
      return 1;
    }
  }
  std::cout << n << " modules in " << folder.string() << "\n";
  return 0;
}
