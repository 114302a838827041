#include "tools/yard/option_set.h"

#include "CLI/CLI.hpp"

namespace yard {

void OptionSet::Flag(const char* name, bool& value, const char* help) {
  app_->add_flag(name, value, help);
}
void OptionSet::Add(const char* name, std::string& value, const char* help, Need need) {
  app_->add_option(name, value, help)->required(need == Need::kRequired);
}
void OptionSet::Add(const char* name, double& value, const char* help) {
  app_->add_option(name, value, help);
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
  if (name[0] == '-') option->expected(1)->take_all();
}

}  // namespace yard
