#include "base/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/check.h"

namespace hone {
namespace {

template <class T>
FlagCheck checked_range(T least, T most, const char* kind) {
  const CLI::Range range(least, most);
  return {[=](const std::string& given) {
            std::string text = given;
            return range(text).empty() ? "" : fmt::format("'{}' is not a {} from {} to {}", given, kind, least, most);
          },
          range.get_description()};
}

FlagCheck check_of(const CLI::Validator& validator) {
  return {[validator](const std::string& given) {
            std::string text = given;
            return validator(text);
          },
          validator.get_description()};
}

}  // namespace

FlagCheck number_from(int64_t least, int64_t most) { return checked_range(least, most, "whole number"); }
FlagCheck number_from(double least, double most) { return checked_range(least, most, "number"); }
FlagCheck text_from(const std::vector<std::string>& texts) { return check_of(CLI::IsMember(texts)); }
FlagCheck existing_file() { return check_of(CLI::ExistingFile); }

Flag Flag::check(const FlagCheck& check) const {
  option_->check(
      CLI::Validator([refusal = check.refusal](std::string& given) { return refusal(given); }, check.allowed));
  return *this;
}
Flag Flag::required() const { return Flag(*option_->required()); }
Flag Flag::one_value_each() const { return Flag(*option_->allow_extra_args(false)); }
Flag Flag::delimiter(char between) const { return Flag(*option_->delimiter(between)); }
Flag Flag::capture_default_str() const { return Flag(*option_->capture_default_str()); }
Flag Flag::default_str(const std::string& text) const { return Flag(*option_->default_str(text)); }
Flag Flag::type_name(const std::string& text) const { return Flag(*option_->type_name(text)); }
Flag Flag::option_text(const std::string& text) const { return Flag(*option_->option_text(text)); }
Flag Flag::group(const std::string& title) const { return Flag(*option_->group(title)); }
Flag Flag::hide() const { return group(""); }
Flag Flag::add_result(const std::string& text) const { return Flag(*option_->add_result(text)); }

std::string Flag::name() const { return option_->get_name(); }
std::vector<std::string> Flag::long_names() const { return option_->get_lnames(); }
bool Flag::takes_value() const { return option_->get_items_expected_max() > 0; }
bool Flag::is_hidden() const { return option_->get_group().empty(); }
size_t Flag::count() const { return option_->count(); }

CommandLine::CommandLine(const std::string& text, const std::string& name)
    : app_(std::make_shared<CLI::App>(text, name)) {}
CommandLine::CommandLine(std::shared_ptr<CLI::App> app, const CommandLine* parent)
    : app_(std::move(app)), parent_(parent) {}
CommandLine::~CommandLine() = default;

void CommandLine::set_name(const std::string& name) { app_->name(name); }
const std::string& CommandLine::name() const { return app_->get_name(); }

template <FlagValue T>
Flag CommandLine::add_option(const std::string& names, T& value, const std::string& text) {
  return Flag(*app_->add_option(names, value, text));
}
template Flag CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Flag CommandLine::add_option(const std::string&, int&, const std::string&);
template Flag CommandLine::add_option(const std::string&, uint16_t&, const std::string&);
template Flag CommandLine::add_option(const std::string&, uint32_t&, const std::string&);
template Flag CommandLine::add_option(const std::string&, int64_t&, const std::string&);
template Flag CommandLine::add_option(const std::string&, uint64_t&, const std::string&);
template Flag CommandLine::add_option(const std::string&, double&, const std::string&);
template Flag CommandLine::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Flag CommandLine::add_option(const std::string&, std::vector<int>&, const std::string&);
template Flag CommandLine::add_option(const std::string&, std::vector<uint64_t>&, const std::string&);

Flag CommandLine::add_option_function(const std::string& names, const std::function<void(const std::string&)>& read,
                                      const std::string& text) {
  return Flag(*app_->add_option_function(names, read, text));
}
Flag CommandLine::add_option_function(const std::string& names,
                                      const std::function<void(const std::vector<std::string>&)>& read,
                                      const std::string& text) {
  return Flag(*app_->add_option_function(names, read, text));
}
Flag CommandLine::add_flag(const std::string& names, bool& value, const std::string& text) {
  return Flag(*app_->add_flag(names, value, text));
}
void CommandLine::add_version_flag(const std::string& names, const std::function<std::string()>& line,
                                   const std::string& text) {
  app_->set_version_flag(names, line, text);
}
void CommandLine::refuse_if(const std::function<std::string()>& reason) {
  app_->parse_complete_callback([reason] {
    if (const std::string text = reason(); !text.empty()) throw CLI::ValidationError(text);
  });
}

CommandLine& CommandLine::add_command(const std::string& name, const std::string& text) {
  app_->require_subcommand(0, 1);
  CLI::App* const command = app_->add_subcommand(name, text);
  commands_.emplace_back(new CommandLine(app_->get_subcommand_ptr(command), this));
  return *commands_.back();
}
void CommandLine::fallthrough() { app_->fallthrough(); }

Flag CommandLine::flag(const std::string& name) const {
  const std::optional<Flag> found = find_flag(name);
  HONE_ICHECK(found) << this->name() << " has no flag " << name;
  return *found;
}
std::optional<Flag> CommandLine::find_flag(const std::string& name) const {
  CLI::Option* const option = app_->get_option_no_throw(name);
  return option ? std::optional(Flag(*option)) : std::nullopt;
}
std::vector<Flag> CommandLine::flags() const {
  std::vector<Flag> out;
  for (CLI::Option* option : app_->get_options()) out.emplace_back(*option);
  return out;
}
CommandLine* CommandLine::find_command(const std::string& name) {
  for (const auto& command : commands_)
    if (command->name() == name) return command.get();
  return nullptr;
}
const CommandLine* CommandLine::command() const {
  for (const auto& command : commands_)
    if (command->app_->parsed()) return command.get();
  return nullptr;
}

}  // namespace hone
