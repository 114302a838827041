#include "bench/ray_figures.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/stamps.h"
#include "nlohmann/json.hpp"
#include "runtime/file.h"
#include "runtime/locations.h"
#include "runtime/subprocess.h"
#include "runtime/unique_fd.h"

namespace bench {
namespace {

constexpr absl::Duration kLong = absl::Minutes(10);

absl::StatusOr<std::string> Python() {
  const char* const peers = getenv("YARD_PEERS");
  const char* const home = getenv("HOME");
  const std::string folder = peers != nullptr  ? std::string(peers)
                             : home != nullptr ? absl::StrCat(home, "/.cache/trainyard/peers")
                                               : std::string();
  std::string path = folder + "/ray/bin/python";
  if (access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError("not installed: tools/peers ray");
}

// Runs it, with its output in `path`.
absl::Status Run(const std::vector<std::string>& argv, const std::string& folder,
                 const std::string& path) {
  const runtime::UniqueFd out(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const runtime::UniqueFd rest(
      open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  auto process =
      runtime::Subprocess::Start({.argv = argv,
                                  .program = argv[0],
                                  .environment = {"PATH=/usr/bin:/bin", "HOME=" + folder,
                                                  "TMPDIR=" + folder, "RAY_USAGE_STATS_ENABLED=0"},
                                  .working_directory = folder,
                                  .fds = {{out.get(), 1}, {rest.get(), 2}},
                                  .new_session = true});
  if (!process.ok()) return process.status();
  const auto ended = process->Wait(kLong);
  if (!ended.ok()) (void)process->SignalGroup(SIGKILL);
  if (!ended.ok()) return ended.status();
  if (ended->code == 0 && ended->signal == 0) return absl::OkStatus();
  const std::string said = runtime::ReadFile(folder + "/log", 1 << 20).value_or("");
  return absl::InternalError(
      absl::StrCat("Ray has failed: ", said.substr(said.size() > 500 ? said.size() - 500 : 0)));
}

}  // namespace

absl::StatusOr<RayFigures> MeasureRay(int reports, int trials) {
  const auto python = Python();
  if (!python.ok()) return python.status();
  const auto script = runtime::FindDataFile("bench/ray_figures.py");
  if (!script.ok()) return absl::InternalError(script.status().message());
  const std::string folder = NewFolder();
  const std::string path = folder + "/figures";
  const absl::Status run =
      Run({*python, *script, absl::StrCat(reports), absl::StrCat(trials)}, folder, path);
  const auto text = runtime::ReadFile(path, 1 << 20);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!run.ok()) return run;
  if (!text.ok()) return text.status();
  const std::size_t line = text->rfind('{');
  const auto figures =
      nlohmann::json::parse(line == text->npos ? *text : text->substr(line), nullptr, false);
  if (!figures.is_object()) return absl::InternalError("Ray's figures are no JSON: " + *text);
  return RayFigures{figures.value("reports_per_second", 0.0),
                    figures.value("one_report_trial_ms", 0.0),
                    figures.value("at_rest_megabytes", 0.0)};
}

}  // namespace bench
