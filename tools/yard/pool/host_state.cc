#include "tools/yard/pool/host_state.h"

#include <unistd.h>

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

constexpr std::string_view kPhases[] = {"connecting", "copying", "connected",
                                        "away",       "leaving", "left"};
constexpr std::size_t kLongestFile = 64 << 10;

std::string Path(const std::string& runtime_directory, const std::string& node) {
  return absl::StrCat(runtime_directory, "/pool/", node);
}

}  // namespace

std::string_view NameOfPhase(HostState::Phase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

absl::Status WriteHostState(const std::string& runtime_directory, const std::string& node,
                            const HostState& state) {
  if (absl::Status made = runtime::MakePrivateDirectory(runtime_directory + "/pool"); !made.ok()) {
    return made;
  }
  std::string text(NameOfPhase(state.phase));
  absl::StrAppend(&text, "\n", state.why);
  return runtime::WriteFileAtomically(Path(runtime_directory, node), text, 0600);
}

absl::StatusOr<HostState> ReadHostState(const std::string& runtime_directory,
                                        const std::string& node) {
  const auto text = runtime::ReadFile(Path(runtime_directory, node), kLongestFile);
  if (!text.ok()) return text.status();
  const std::size_t end = text->find('\n');
  for (std::size_t i = 0; end != text->npos && i < std::size(kPhases); ++i) {
    if (kPhases[i] == std::string_view(*text).substr(0, end)) {
      return HostState{.phase = static_cast<HostState::Phase>(i), .why = text->substr(end + 1)};
    }
  }
  return absl::DataLossError(
      absl::StrCat(Path(runtime_directory, node), " is no state of a connection"));
}

void RemoveHostState(const std::string& runtime_directory, const std::string& node) {
  (void)unlink(Path(runtime_directory, node).c_str());
}

}  // namespace yard
