#include "tools/yard/cli/option_set.h"

#include "CLI/CLI.hpp"

namespace yard {
namespace {

constexpr double kLongest = 1e9;

// Returns an error for a number of seconds; empty if it is valid. NaN fails both comparisons.
std::string IsTime(const std::string& text) {
  double seconds = -1;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds <= kLongest) return "";
  return text + " is not a number from 0 to 1e9";
}

}  // namespace

void OptionSet::Flag(const char* name, bool& value, const char* help) {
  app_->add_flag(name, value, help);
}
void OptionSet::Add(const char* name, std::string& value, const char* help, Need need) {
  app_->add_option(name, value, help)->required(need == Need::kRequired);
}
void OptionSet::Add(const char* name, std::optional<std::string>& value, const char* help) {
  app_->add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, help);
}
void OptionSet::Add(const char* name, double& value, const char* help) {
  app_->add_option(name, value, help)->check(IsTime);
}
void OptionSet::Add(const char* name, int& value, const char* help) {
  app_->add_option(name, value, help);
}
void OptionSet::Add(const char* name, std::uint32_t& value, const char* help) {
  app_->add_option(name, value, help);
}
void OptionSet::Add(const char* name, std::uint64_t& value, const char* help) {
  app_->add_option(name, value, help);
}
void OptionSet::Add(const char* name, std::vector<std::string>& values, const char* help,
                    Need need) {
  auto* const option = app_->add_option(name, values, help)->required(need == Need::kRequired);
  // CLI11 would otherwise split "[a,b]" into two values.
  if (name[0] == '-') option->expected(1)->take_all()->allow_extra_args(false);
}

// CLI11 omits options without a group from the help.
void OptionSet::HiddenFlag(const std::string& name, bool& value) {
  app_->add_flag(name, value)->group("");
}
void OptionSet::Hidden(const std::string& name, std::string& value) {
  app_->add_option(name, value)->group("");
}
void OptionSet::Hidden(const std::string& name, std::vector<std::string>& values) {
  app_->add_option(name, values)->group("")->expected(1)->take_all()->allow_extra_args(false);
}
void OptionSet::HiddenSwitch(const std::string& name, std::string& value) {
  app_->add_flag(name, value)->group("");
}
void OptionSet::Footer(const std::string& text) { app_->footer(text); }

}  // namespace yard
