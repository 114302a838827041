#include "tools/yard/at/at.h"

#include <iostream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/forwarded_page.h"
#include "tools/yard/at/remote_run.h"
#include "tools/yard/at/ssh_connection.h"
#include "tools/yard/cli/verb_exit_code.h"

namespace yard {
namespace {

constexpr absl::Duration kToComplete = absl::Milliseconds(500);  // A shell waits at a keypress.
constexpr std::size_t kLongestConfiguration = 1 << 20;
constexpr std::size_t kMostHosts = 1000;

SshConnection::Options OptionsOf(const Place& place, const runtime::Locations& locations,
                                 const std::vector<std::string>& environment) {
  return {.place = place,
          .directory = locations.runtime_directory + "/at",
          .environment = environment,
          .err = &std::cerr};
}

int Failed(const absl::Status& status, int code) {
  std::cerr << "yard: " << runtime::PrintableLines(runtime::Std(status.message())) << "\n";
  return code;
}

}  // namespace

bool IsAnsweredHere(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  for (const std::string_view word : {"help", "--help", "-h", "completion"}) {
    if (words[0] == word) return true;
  }
  return false;
}

int RunAt(const Place& place, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, Interrupt* interrupt) {
  const auto locations = runtime::Locations::FromEnvironment();
  if (!locations.ok()) return Failed(locations.status(), kUsage);
  const SshConnection::Options options = OptionsOf(place, *locations, environment);
  if (ShowsAddress(words)) return ForwardPage(options, words, interrupt);
  const auto connection = SshConnection::Open(options);
  if (!connection.ok()) {
    const bool is_usage = absl::IsInvalidArgument(connection.status());
    return Failed(connection.status(), is_usage ? kUsage : kNoConnection);
  }
  return RunThere(*connection, words, environment, interrupt);
}

std::optional<int> CompleteAt(Context& context, const Place& place,
                              const std::vector<std::string>& words) {
  SshConnection::Options options = OptionsOf(place, context.locations, context.environment);
  options.may_ask = false;
  options.is_quiet = true;
  const auto connection = SshConnection::IfOpen(options);
  if (!connection.has_value()) return std::nullopt;
  std::vector<std::string> asked = {"completion", "complete", "--"};
  asked.insert(asked.end(), words.begin(), words.end());
  const auto said = CaptureThere(*connection, asked,
                                 {.environment = context.environment,
                                  .shows_stderr = false,
                                  .new_session = true,
                                  .timeout = kToComplete});
  if (!said.ok() || said->code == kNoConnection) return std::nullopt;
  *context.out << runtime::PrintableLines(said->text);
  return said->code;
}

std::vector<std::string> HostsOfSsh(const std::string& home) {
  const auto text = runtime::ReadFile(home + "/.ssh/config", kLongestConfiguration);
  std::vector<std::string> hosts;
  if (!text.ok()) return hosts;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t="), absl::SkipEmpty());
    if (words.empty() || !absl::EqualsIgnoreCase(words[0], "host")) continue;
    for (std::size_t i = 1; i < words.size() && hosts.size() < kMostHosts; ++i) {
      if (words[i].find_first_of("*?!\"") == std::string::npos) hosts.push_back(words[i]);
    }
  }
  return hosts;
}

}  // namespace yard
