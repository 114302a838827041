#include "tools/yard/follow/request_room.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr std::size_t kAround = 9;  // Overhead of a string in a message.

std::size_t BytesOf(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + kAround;
  return bytes;
}

}  // namespace

absl::Status CheckRoom(const std::vector<std::string>& environment,
                       const std::vector<std::string>& argv, const std::string& config) {
  const std::size_t variables = BytesOf(environment), words = BytesOf(argv);
  if (variables + words + config.size() <= kRequestRoom) return absl::OkStatus();
  const std::string more =
      absl::StrCat("; all together have ", ShortBytes(variables + words + config.size()),
                   ", and a request has ", ShortBytes(kRequestRoom));
  if (config.size() > std::max(variables, words)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the configuration has ", ShortBytes(config.size()), more));
  }
  if (words > variables) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program and its arguments have ", ShortBytes(words), more));
  }
  const auto largest = std::max_element(
      environment.begin(), environment.end(),
      [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  const std::string name = largest->substr(0, largest->find('='));
  return absl::InvalidArgumentError(absl::StrCat(
      "the environment has ", ShortBytes(variables), ", of which the variable ",
      runtime::Printable(name), " has ", ShortBytes(largest->size()), more,
      ". To leave it out: env -u ", runtime::Printable(runtime::ShellWord(name)), " yard ..."));
}

}  // namespace yard
