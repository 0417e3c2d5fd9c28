// Packages in db/packages, checked against today's templates: a build takes a row for its own workload and target only
// if its space is the same. After a change of a template's knobs, tune the rows named here again, or drop them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "compiler/build/choose_config.h"
#include "db/lookup.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// The key of a choice: workload, target, space.
using Key = std::tuple<std::string, std::string, std::string>;

// Why a model would not take a choice; empty where it does. `bests`: the configs of the rows before it.
std::string why_lost_choice(const Json& choice, const std::map<Key, std::string>& bests) {
  const Key key = choice.at("choice").get<Key>();
  const auto& [workload, target, space] = key;
  const auto best = bests.find(key);
  if (best == bests.end()) return "there is no best that it is instead of";
  if (best->second != choice.at("instead_of")) return "another one is the best";
  try {
    const Space now = make_space(parse_workload(workload), Target::parse(target));
    return now.broken_constraint(now.parse(choice.at("config").get<std::string>()));
  } catch (const UserError& e) {
    return e.what();
  }
}

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
  size_t rows = 0, choices = 0, files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(db::usual_hub("").shipped_dir)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    std::ifstream in(entry.path());
    std::vector<std::string> lost;
    std::map<Key, std::string> bests;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("{\"choice\"")) {
        ++choices;
        const Json choice = Json::parse(line);
        if (const std::string why = why_lost_choice(choice, bests); !why.empty())
          lost.push_back("choice for " + choice["choice"][0].get<std::string>() + ": " + why);
      }
      if (line.find("\"trial\"") == std::string::npos) continue;
      ++rows;
      const Json row = Json::parse(line);
      bests[{row["workload"], row["target"], row["space"]}] = row["config"];
      if (const std::string why = why_lost(row); !why.empty())
        lost.push_back(row["workload"].get<std::string>() + ": " + why);
    }
    EXPECT_THAT(lost, testing::IsEmpty()) << entry.path();
  }
  EXPECT_GE(files, 3u);
  EXPECT_GT(rows, 1000u);
  EXPECT_GT(choices, 100u);
}

}  // namespace
}  // namespace hone
