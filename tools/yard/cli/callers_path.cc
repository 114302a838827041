#include "tools/yard/cli/callers_path.h"

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/local_path.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace yard {

absl::StatusOr<std::string> CallersPath(std::string_view option, std::string_view path,
                                        std::string_view working_directory) {
  if (!path.empty() && path.front() == '~') {
    const std::string typed = runtime::Printable(path);
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(option), "=", typed,
                     ": ~ stands for no directory there; leave the = out, so that the shell ",
                     "expands it (", runtime::Absl(option), " ", typed, "), or write ./", typed,
                     " for a directory of that name"));
  }
  const absl::Status local = runtime::CheckLocalPath(option, path);
  if (!local.ok()) return local;
  const std::filesystem::path full = std::filesystem::path(working_directory) / path;
  std::string text = full.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace yard
