#include "bench/peers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/stamps.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace bench {
namespace {

constexpr absl::Duration kLong = absl::Minutes(10);
constexpr std::size_t kShown = 500;

// Runs the command with its output in `path`.
absl::Status Run(std::vector<std::string> argv, const std::string& folder,
                 const std::string& path) {
  const runtime::UniqueFd out(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const runtime::UniqueFd rest(
      open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string program = argv[0];
  auto process =
      runtime::Subprocess::Start({.argv = std::move(argv),
                                  .program = program,
                                  .environment = {"PATH=/usr/bin:/bin", "HOME=" + folder,
                                                  "TMPDIR=" + folder, "RAY_USAGE_STATS_ENABLED=0"},
                                  .working_directory = folder,
                                  .fds = {{out.get(), 1}, {rest.get(), 2}},
                                  .new_session = true});
  if (!process.ok()) return process.status();
  const auto ended = process->Wait(kLong);
  if (!ended.ok()) {
    (void)process->SignalGroup(SIGKILL);
    (void)process->Wait(kLong);
    return ended.status();
  }
  if (ended->ok()) return absl::OkStatus();
  const std::string said = runtime::ReadFile(folder + "/log", 1 << 20).value_or("");
  return absl::InternalError(absl::StrCat(
      program, " has failed: ", said.substr(said.size() - std::min(said.size(), kShown))));
}

}  // namespace

absl::StatusOr<std::string> FindPeer(const std::string& environment, const std::string& program) {
  const char* const peers = getenv("YARD_PEERS");
  const char* const home = getenv("HOME");
  const std::string folder = peers != nullptr  ? std::string(peers)
                             : home != nullptr ? absl::StrCat(home, "/.cache/trainyard/peers")
                                               : std::string();
  std::string path = absl::StrCat(folder, "/", environment, "/", program);
  if (access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError(absl::StrCat("not installed: tools/peers ", environment));
}

absl::StatusOr<nlohmann::json> RunPeerScript(const std::string& python, const std::string& script,
                                             const std::vector<std::string>& arguments) {
  const auto found = runtime::FindDataFile("bench/" + script);
  if (!found.ok()) return absl::InternalError(found.status().message());
  const std::string folder = NewFolder();
  const std::string path = folder + "/figures";
  std::vector<std::string> argv = {python, *found};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const absl::Status run = Run(std::move(argv), folder, path);
  const auto text = runtime::ReadFile(path, 1 << 20);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!run.ok()) return run;
  if (!text.ok()) return text.status();
  const std::size_t line = text->rfind('{');
  auto figures =
      nlohmann::json::parse(line == text->npos ? *text : text->substr(line), nullptr, false);
  if (!figures.is_object()) {
    return absl::InternalError(absl::StrCat("the figures of ", script, " are no JSON: ", *text));
  }
  return figures;
}

}  // namespace bench
