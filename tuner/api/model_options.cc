#include "tuner/api/model_options.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace hone::api {
namespace {

// The member, taken out; null where there is none.
Json taken(Json& options, const std::string& name) {
  const auto it = options.find(name);
  if (it == options.end()) return nullptr;
  Json out = std::move(*it);
  options.erase(it);
  return out;
}

// Calls f(name, value, `member["NAME"]`) for each member of {"NAME": …}.
template <class F>
void each_of(Json& options, const std::string& member, const F& f) {
  const Json object = taken(options, member);
  HONE_USER_CHECK(object.is_null() || object.is_object()) << member << ": " << object.dump() << " is not an object";
  for (const auto& [name, value] : object.items()) f(name, value, member + "[\"" + name + "\"]");
}

int64_t number_of(const Json& value, const std::string& what, int64_t least, int64_t most) {
  const bool is_known = value.is_number_integer() && (!value.is_number_unsigned() || value <= INT64_MAX);
  const int64_t number = is_known ? value.get<int64_t>() : -1;
  HONE_USER_CHECK(is_known && number >= least && number <= most)
      << what << ": " << value.dump() << " is not a whole number from " << least << " to " << most;
  return number;
}

std::string text_of(const Json& value, const std::string& what) {
  HONE_USER_CHECK(value.is_string() && !value.get_ref<const std::string&>().empty())
      << what << ": " << value.dump() << " is not a text";
  return value.get<std::string>();
}

// One value, or a list of several, each once.
template <class T, class Parse>
std::vector<T> values_of(const Json& value, bool is_list, const std::string& what, const Parse& parse) {
  if (!is_list) return {parse(value)};
  HONE_USER_CHECK(!value.empty()) << what << " is empty";
  std::vector<T> out;
  for (const Json& one : value) {
    T parsed = parse(one);
    HONE_USER_CHECK(std::find(out.begin(), out.end(), parsed) == out.end())
        << what << ": " << one.dump() << " is there twice";
    out.push_back(std::move(parsed));
  }
  return out;
}

}  // namespace

void take_model_options(Json& options, ModelRequest& request) {
  each_of(options, "bind", [&](const std::string& name, const Json& value, const std::string& what) {
    request.bind.push_back(
        {name, values_of<BindValue>(value, value.is_array(), what, [&](const Json& v) {
           return v.is_string() ? BindValue{0, text_of(v, what)} : BindValue{number_of(v, what, 0, INT32_MAX), ""};
         })});
  });
  each_of(options, "shapes", [&](const std::string& name, const Json& value, const std::string& what) {
    HONE_USER_CHECK(value.is_array()) << what << ": " << value.dump() << " is not a shape";
    const bool is_list = !value.empty() && value[0].is_array();
    request.shapes.push_back({name, values_of<Extents>(value, is_list, what, [&](const Json& v) {
                                HONE_USER_CHECK(v.is_array()) << what << ": " << v.dump() << " is not a shape";
                                Extents shape;
                                for (const Json& extent : v) shape.push_back(number_of(extent, what, 0, INT32_MAX));
                                return shape;
                              })});
  });
  each_of(options, "bind_data", [&](const std::string& name, const Json& value, const std::string& what) {
    request.bind_data.push_back({name, text_of(value, what)});
  });
  each_of(options, "formats", [&](const std::string& name, const Json& value, const std::string& what) {
    request.formats.push_back(input_format(name, text_of(value, what)));
  });
  each_of(options, "replace", [&](const std::string& pattern, const Json& value, const std::string& what) {
    request.replace.push_back({pattern, text_of(value, what)});
  });
  each_of(options, "cache", [&](const std::string& name, const Json& value, const std::string& what) {
    HONE_USER_CHECK(!request.cache) << "cache: there is one dimension of caches";
    request.cache = CacheOption{name, number_of(value, what, 1, INT32_MAX)};
  });
}

void take_threads(Json& options, std::vector<int>& threads) {
  const Json value = taken(options, "threads");
  if (value.is_null()) return;
  threads = values_of<int>(value, value.is_array(), "threads",
                           [](const Json& v) { return static_cast<int>(number_of(v, "threads", 1, 1024)); });
  std::sort(threads.begin(), threads.end(), std::greater<>());
}

}  // namespace hone::api
