#include "trainer/run/outcome_file.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace trainer {

absl::Status BringOutcomeUpToDate(const std::string& run_directory,
                                  const std::optional<bus::RunOutcome>& outcome) {
  const std::string path = absl::StrCat(run_directory, "/", runtime::Absl(bus::RunOutcome::kFile));
  if (!outcome.has_value()) {
    if (unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
  }
  std::error_code none;
  if (!std::filesystem::is_directory(run_directory, none)) return absl::OkStatus();
  const std::string wanted = bus::RenderRunOutcome(*outcome);
  const auto found = runtime::ReadFile(path, bus::RunOutcome::kMaxBytes);
  if (found.ok() && *found == wanted) return absl::OkStatus();
  return runtime::WriteFileAtomically(path, wanted, runtime::FileMode::OfFileIn(run_directory));
}

}  // namespace trainer
