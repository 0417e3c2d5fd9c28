#include "compiler/graph/passes/user_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "compiler/graph/passes/passes.h"

namespace hone {
namespace {

std::string text_of(const Port& p) {
  const std::string extent =
      p.extent ? fmt::format(", along axis {} as output {} counts", p.extent->axis, p.extent->count) : "";
  return fmt::format("'{}' {}{}", p.name, to_string(p.type), extent);
}

void check_ports(const UserPass& pass, const char* kind, const std::vector<Port>& before,
                 const std::vector<Port>& now) {
  HONE_USER_CHECK(now.size() == before.size())
      << "graph pass '" << pass.name << "': the graph has " << now.size() << " " << kind << "s, not " << before.size();
  for (size_t i = 0; i < now.size(); ++i)
    HONE_USER_CHECK(text_of(now[i]) == text_of(before[i]))
        << "graph pass '" << pass.name << "': " << kind << " " << i << " is " << text_of(now[i]) << ", not "
        << text_of(before[i]);
}

void check_name(const UserPass& pass, const std::vector<PlacedPass>& passes) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  HONE_USER_CHECK(!pass.name.empty() && std::all_of(pass.name.begin(), pass.name.end(), is_plain))
      << "graph pass '" << pass.name << "': a name is of letters, digits and _";
  const auto is_called_so = [&](const PlacedPass& p) { return p.pass.name == pass.name; };
  HONE_USER_CHECK(pass.name != kImport && std::none_of(passes.begin(), passes.end(), is_called_so))
      << "graph pass '" << pass.name << "': there is a pass of this name already";
}

// Whether `pass` runs behind the pass called `place`: by its own place, or by that of a pass of the user's beside it.
bool is_behind(const UserPass& pass, const std::string& place, const std::vector<UserPass>& own) {
  if (pass.place == place) return !pass.is_before;
  const auto beside = std::find_if(own.begin(), own.end(), [&](const UserPass& p) { return p.name == pass.place; });
  return beside != own.end() && is_behind(*beside, place, own);
}

}  // namespace

Graph run_checked(const UserPass& pass, const Graph& g) {
  Graph made = pass.run(g);
  if (const auto fault = fault_of(made)) {
    const bool is_of_node = fault->node >= 0 && !made.nodes[fault->node].outputs.empty();
    const ValueId v = is_of_node ? made.nodes[fault->node].outputs[0] : kNoValue;
    const bool has_name = v >= 0 && static_cast<size_t>(v) < made.values.size();
    throw UserError(fmt::format("graph pass '{}': {}{}", pass.name,
                                has_name ? "node %" + made.value(v).name + ": " : "", fault->what));
  }
  check_ports(pass, "input", g.inputs, made.inputs);
  check_ports(pass, "output", g.outputs, made.outputs);
  return remove_dead(made);
}

std::vector<Pass<Graph>> with_user_passes(std::vector<PlacedPass> passes, const std::vector<UserPass>& own) {
  // Behind `import` there is a place, too.
  passes.insert(passes.begin(), PlacedPass{{kImport, {}}, false});
  std::vector<const UserPass*> user(passes.size(), nullptr);  // by place in the list
  for (const UserPass& p : own) {
    check_name(p, passes);
    const auto at =
        std::find_if(passes.begin(), passes.end(), [&](const PlacedPass& other) { return other.pass.name == p.place; });
    if (at == passes.end()) {
      std::vector<Pass<Graph>> names;
      for (const PlacedPass& other : passes) names.push_back(other.pass);
      throw UserError(fmt::format("graph pass '{}': there is no pass '{}' to run {}; there are {}", p.name, p.place,
                                  p.is_before ? "before" : "after", names_of(names)));
    }
    HONE_USER_CHECK(p.place != kImport || !p.is_before)
        << "graph pass '" << p.name << "': nothing runs before import, which reads the model";
    size_t place = static_cast<size_t>(at - passes.begin());
    if (!p.is_before) {
      ++place;
      while (place < user.size() && user[place] && is_behind(*user[place], p.place, own)) ++place;
    }
    const auto offset = static_cast<std::ptrdiff_t>(place);
    Pass<Graph> pass{p.name, [&p](const Graph& g) { return run_checked(p, g); }};
    pass.is_users = true;
    passes.insert(passes.begin() + offset, PlacedPass{std::move(pass)});
    user.insert(user.begin() + offset, &p);
  }
  std::vector<Pass<Graph>> out;
  for (PlacedPass& p : passes)
    if (p.is_wanted) out.push_back(std::move(p.pass));
  return out;
}

}  // namespace hone
