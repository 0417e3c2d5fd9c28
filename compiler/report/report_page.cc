#include "compiler/report/report_page.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "compiler/report/assets.h"
#include "compiler/report/report_json.h"

namespace hone {
namespace {

constexpr std::string_view kBegin = R"(<script type="application/json" id="report">)", kEnd = "</script>";

std::string_view asset(std::string_view name) {
  const auto all = report::assets();
  const auto it = std::find_if(all.begin(), all.end(), [&](const report::Asset& a) { return a.name == name; });
  HONE_ICHECK(it != all.end()) << "the report's page has no file " << name;
  return it->bytes;
}

// No text of the JSON can end the element that it is in, or begin another.
std::string in_script(const std::string& json) {
  std::string out;
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

void replace(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  HONE_ICHECK(at != std::string::npos) << "the report's page has no place for " << mark;
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string report_page(const OrderedJson& report) {
  std::string page(asset("page.html"));
  // The data comes last, so that marks inside it are never replaced.
  replace(page, "<!-- style -->", "<style>\n" + std::string(asset("style.css")) + "</style>");
  std::string scripts;
  for (const char* name :
       {"dom.js", "format.js", "table.js", "head.js", "layers.js", "memory.js", "fusion.js", "compare.js", "main.js"})
    scripts += "<script>\n" + std::string(asset(name)) + "</script>\n";
  replace(page, "<!-- scripts -->", scripts);
  replace(page, "<!-- data -->", std::string(kBegin) + in_script(json_line(report)) + std::string(kEnd));
  return page;
}

std::optional<std::string> data_of_page(const std::string& text) {
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  const size_t first = begin + kBegin.size(), end = text.find(kEnd, first);
  return text.substr(first, end == std::string::npos ? end : end - first);
}

}  // namespace hone
