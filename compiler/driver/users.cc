#include "compiler/driver/users.h"

#include "base/check.h"
#include "base/near_name.h"

namespace hone {

std::shared_ptr<UserOperators> users_of(const ModelRequest& request, const OperatorTable& operators) {
  if (request.operators.empty() && request.replace.empty() && !request.define) return nullptr;
  auto users = std::make_shared<UserOperators>();
  for (const std::string& path : request.operators) users->read(path);
  users->each([&](const Definition& d) { operators.definitions().add(d); });
  if (request.define) users->answer_by(request.define);
  for (const ReplacedNode& r : request.replace) {
    HONE_USER_CHECK(users->has(r.op)) << "--replace " << to_string(r) << ": nobody defines " << r.op
                                      << did_you_mean(r.op, {users->names().begin(), users->names().end()})
                                      << (users->names().empty() ? "; --operators FILE does" : "");
    users->replace(r.pattern, r.op);
  }
  return users;
}

std::vector<std::string> files_of_answers(const ModelRequest& request) {
  if (!request.define) return {};
  UserOperators users;
  users.answer_by(request.define);
  return users.answered_files();
}

}  // namespace hone
