#include "tools/yard/at/ssh_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"

namespace yard {

std::string EnvironmentValue(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

std::vector<std::string> SshWords(const std::vector<std::string>& environment) {
  std::vector<std::string> words =
      absl::StrSplit(EnvironmentValue(environment, "YARD_SSH"), ' ', absl::SkipEmpty());
  if (words.empty()) words.emplace_back("ssh");
  return words;
}

std::string TypedSsh(const std::vector<std::string>& ssh, std::string_view host) {
  std::string text;
  for (const std::string& word : ssh) absl::StrAppend(&text, runtime::ShellWord(word), " ");
  return runtime::Printable(text + runtime::ShellWord(host));
}

}  // namespace yard
