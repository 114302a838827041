#include "launcher/run/attempt.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"

namespace launcher {

bool AttemptEnd::success() const {
  return !lost && !shim_lost && state.failure.empty() && state.exit_code == 0 && state.signal == 0;
}

bool Attempt::IsAcknowledged(const std::string& folder) {
  return access(SpecPath(folder).c_str(), F_OK) != 0;
}

std::string SpecPath(const std::string& folder) {
  return absl::StrCat(folder, "/", runtime::Absl(kSpecFile));
}

std::string HowItEnded(const ShimState& state) {
  if (!state.failure.empty()) return state.failure;
  const std::string status =
      runtime::ExitStatus{state.exit_code, state.signal, state.core_dumped}.ToString();
  return state.note.empty() ? status : absl::StrCat(status, "; ", state.note);
}

}  // namespace launcher
