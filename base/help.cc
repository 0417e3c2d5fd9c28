#include "base/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/check.h"
#include "base/cli.h"
#include "base/command_line.h"

namespace hone {
namespace {

constexpr size_t kFlagColumn = 28, kExampleColumn = 58;

std::string wrapped(const std::string& text, size_t columns) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const size_t length = end - at;
    if (used > 0 && used + 1 + length > columns) {
      out += '\n';
      used = 0;
    }
    if (used > 0) out += ' ', ++used;
    out.append(text, at, length);
    used += length;
    if (end < text.size() && text[end] == '\n') {
      out += '\n';
      used = 0;
    }
    at = end + 1;
  }
  return out;
}

std::string two_columns(const HelpLine& line, size_t column) {
  return fmt::format("  {:<{}} {}\n", line.flag, column - 2, line.says);
}

class ScreenFormatter final : public CLI::Formatter {
 public:
  explicit ScreenFormatter(Help help) : help_(std::move(help)) {}
  const Help& help() const { return help_; }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Normal && !help_.groups.empty()) return screen(app->get_name());
    // Commands are named; each has its own.
    return CLI::Formatter::make_help(app, std::move(name),
                                     mode == CLI::AppFormatMode::All ? CLI::AppFormatMode::Normal : mode);
  }
  std::string make_description(const CLI::App* app) const override {
    if (help_.examples.empty()) return wrapped(CLI::Formatter::make_description(app), kHelpColumns);
    return beginning(app->get_name()) + wrapped(help_.details, kHelpColumns) + (help_.details.empty() ? "" : "\n");
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return option->check_name(kFlagsFile) ? kFlagsFile : CLI::Formatter::make_option_name(option, is_positional);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), kHelpColumns - get_column_width());
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, sub->get_display_name(true),
                             wrapped(sub->get_description(), kHelpColumns - get_column_width()), get_column_width());
    return out.str();
  }

  std::string bare(const std::string& program) const {
    std::string out = fmt::format("{}\n", help_.does);
    for (const HelpLine& e : help_.examples) out += two_columns(e, kExampleColumn);
    return out + fmt::format("{} --help: its flags; {} --help all: every flag\n", program, program);
  }

 private:
  std::string beginning(const std::string& program) const {
    return fmt::format("Example: {}\n{}\n{} --help all: every flag\n", help_.examples[0].flag, help_.does, program);
  }
  std::string screen(const std::string& program) const {
    std::string out = beginning(program);
    for (const HelpGroup& group : help_.groups) {
      if (group.lines.empty()) continue;
      out += group.title + "\n";
      for (const HelpLine& line : group.lines) out += two_columns(line, kFlagColumn);
    }
    return out;
  }

  const Help help_;
};

const ScreenFormatter* formatter_of(const CLI::App& app) {
  return dynamic_cast<const ScreenFormatter*>(app.get_formatter().get());
}

// -o of `-o FILE`, --tls-cert of `--tls-cert, --tls-key FILE`.
std::string name_of(const std::string& flag) { return flag.substr(0, flag.find_first_of(" ,=")); }

void wrap_help(CLI::App& app) {
  if (!formatter_of(app)) app.formatter(std::make_shared<ScreenFormatter>(Help{}));
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) wrap_help(*sub);
}

}  // namespace

void set_help(CommandLine& line, Help help) {
  CLI::App& app = line.app();
  const auto put = [&](const std::string& name, const std::string& title) {
    CLI::Option* const option = app.get_option_no_throw(name);
    // A program's own words, and commands, are no flags.
    HONE_ICHECK(option || name[0] != '-') << "--help names " << name << ", which " << app.get_name() << " has not";
    if (option) option->group(title);
  };
  for (const HelpGroup& group : help.groups) {
    for (const HelpLine& line : group.lines) put(name_of(line.flag), group.title);
    for (const std::string& name : group.others) put(name, group.title);
  }
  app.formatter(std::make_shared<ScreenFormatter>(std::move(help)));
}

std::string bare_help(const CommandLine& line, int argc) {
  const ScreenFormatter* const formatter = formatter_of(line.app());
  return argc == 1 && formatter && formatter->help().wants_words ? formatter->bare(line.name()) : "";
}

std::string asked_help(CommandLine& line, const std::vector<std::string>& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--") break;
    if ((words[i] != "--help" && words[i] != "-h") || words[i + 1] != "all") continue;
    const CommandLine* const command = line.find_command(words[0]);
    return (command ? *command : line).app().help("", CLI::AppFormatMode::All);
  }
  return "";
}

void wrap_help(CommandLine& line) { wrap_help(line.app()); }

}  // namespace hone
