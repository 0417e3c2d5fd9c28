// Writes the page of a report: `web_report < r.json > r.html`. The browser's tests make their data themselves.
#include <iostream>
#include <iterator>

#include "compiler/report/report_page.h"

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << hone::report_page(hone::OrderedJson::parse(text));
}
