#include "trainer/attempt/start_holds.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/query/query_numbers.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

constexpr std::size_t kMostLooks = 64;

std::string Gigabytes(double bytes) {
  return absl::StrFormat("%.3g GiB", bytes / (std::uint64_t{1} << 30));
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<MinFree> ParseMinFree(std::string_view text) {
  absl::string_view rest = runtime::Absl(text);
  double percent = 0;
  if (absl::ConsumeSuffix(&rest, "%")) {
    if (absl::SimpleAtod(rest, &percent) && percent >= 0 && percent < 100) {
      return MinFree{.percent = percent};
    }
  } else if (const std::optional<double> bytes = runtime::ParseBytes(text);
             bytes.has_value() && *bytes >= 0 && *bytes < 9e18) {
    return MinFree{.bytes = static_cast<std::uint64_t>(*bytes)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("min_free is \"", runtime::Absl(text),
                   "\": expected a size such as 5GiB, or a part such as 2%"));
}

absl::StatusOr<DiskRoom> RoomOf(std::string directory) {
  for (;;) {
    struct statvfs room {};
    if (statvfs(directory.c_str(), &room) == 0) {
      return DiskRoom{std::uint64_t{room.f_bavail} * room.f_frsize,
                      std::uint64_t{room.f_blocks} * room.f_frsize};
    }
    if (errno != ENOENT || directory == "/") {
      return absl::UnavailableError(absl::StrCat("statvfs ", directory, ": ", strerror(errno)));
    }
    directory = ParentOf(directory);
  }
}

std::string StartHolds::WhyHeld(const TrialRecord& trial) const {
  if (trial.launching) return "";
  const std::int64_t begins = trial.spec.options.not_before_us;
  if (begins > absl::ToUnixMicros(options_.clock->Now())) {
    return absl::StrCat(
        "begins at ",
        absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(begins), absl::LocalTimeZone()));
  }
  return WhyNoRoom(ParentOf(trial.spec.run_directory));
}

std::string StartHolds::WhyNoRoom(const std::string& directory) const {
  const MinFree& min_free = options_.min_free;
  if (min_free == MinFree()) return "";
  if (looks_.size() >= kMostLooks && !looks_.contains(directory)) looks_.clear();
  Look& look = looks_[directory];
  const absl::Duration now = options_.clock->Monotonic();
  if (now < look.at + kLookAgain) return look.why;
  look = {.at = now, .why = ""};
  const auto room = options_.room(directory);
  if (!room.ok()) return "";  // The start reports the error.
  const double wanted = std::max(static_cast<double>(min_free.bytes),
                                 static_cast<double>(room->total) * min_free.percent / 100);
  if (static_cast<double>(room->free) >= wanted) return "";
  look.why =
      absl::StrCat("the disk of ", directory, " has ", Gigabytes(static_cast<double>(room->free)),
                   " free, and ", Gigabytes(wanted), " have to stay free; next: yard du");
  return look.why;
}

void StartHolds::Await(const TrialRecord& trial) {
  const absl::Duration begins =
      absl::FromUnixMicros(trial.spec.options.not_before_us) - options_.clock->Now();
  const absl::Duration pause =
      begins > absl::ZeroDuration() ? std::min(begins, kLongestSleep) : kLookAgain;
  const absl::Duration at = options_.clock->Monotonic() + pause;
  if (timer_.is_set() && at >= wakes_) return;
  wakes_ = at;
  timer_.Start(options_.loop, pause, options_.again);
}

}  // namespace trainer
