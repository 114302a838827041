#include "tools/yard/trial/config_text.h"

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/trial/trial_expansion.h"

namespace yard {

absl::StatusOr<std::string> ConfigText(const std::string& typed,
                                       const std::string& working_directory) {
  const std::size_t begin = typed.find_first_not_of(" \t\r\n");
  if (begin == typed.npos || typed[begin] == '{') return typed;
  const std::string name = typed[0] == '@' ? typed.substr(1) : typed;
  const auto path = CallersPath("--config", name, working_directory);
  if (!path.ok()) return path.status();
  auto text = runtime::ReadFile(*path, kMaxConfig);
  if (text.ok()) {
    const auto config = ParseConfig(*text);
    if (config.ok()) return text;
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", runtime::Printable(typed), ": ", config.status().message()));
  }
  if (absl::IsNotFound(text.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", runtime::Printable(typed),
                     ": neither a JSON object, like '{\"lr\": 0.1}', nor a file"));
  }
  return text.status();
}

}  // namespace yard
