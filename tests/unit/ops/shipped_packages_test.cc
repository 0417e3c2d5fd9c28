// What ships in db/packages, held against the templates of today: a build takes a row for its own workload and target
// only where its space is the same. After a change of a template's knobs, tune what is named here again, or drop it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/json.h"
#include "compiler/build/choose_config.h"
#include "db/lookup.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// Why a build would not take a row as it is; empty where it does.
std::string why_lost(const Json& row) {
  try {
    const auto text = [&](const char* field) { return row.at(field).get<std::string>(); };
    const Space space = make_space(parse_workload(text("workload")), Target::parse(text("target")));
    if (space.template_name() != text("template")) return "another template";
    if (space.revision() != row.at("revision")) return "another revision of the template";
    if (space.fingerprint().hex() != text("space")) return "another space";
    return space.broken_constraint(space.parse(text("config")));
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST(ShippedPackages, RowsAreConfigsOfTheirTemplates) {
  size_t rows = 0, files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(db::usual_hub("").shipped_dir)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    std::ifstream in(entry.path());
    std::vector<std::string> lost;
    for (std::string line; std::getline(in, line);) {
      if (line.find("\"trial\"") == std::string::npos) continue;
      ++rows;
      const Json row = Json::parse(line);
      if (const std::string why = why_lost(row); !why.empty())
        lost.push_back(row["workload"].get<std::string>() + ": " + why);
    }
    EXPECT_THAT(lost, testing::IsEmpty()) << entry.path();
  }
  EXPECT_GE(files, 3u);
  EXPECT_GT(rows, 1000u);
}

}  // namespace
}  // namespace hone
