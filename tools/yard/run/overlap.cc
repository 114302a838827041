#include "tools/yard/run/overlap.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace yard {

absl::StatusOr<msg::Overlap> ParseOverlap(const std::string& name) {
  static constexpr std::pair<const char*, msg::Overlap> kNames[] = {
      {"raw", msg::Overlap::Raw},
      {"last", msg::Overlap::LastWrite},
      {"tensorboard", msg::Overlap::TensorBoard},
      {"tensorboard-v1", msg::Overlap::TensorBoardV1},
      {"tensorboard-v2", msg::Overlap::TensorBoardV2},
      {"rust", msg::Overlap::RustServer},
      {"mindinsight", msg::Overlap::MindInsight},
  };
  std::string known;
  for (const auto& [text, overlap] : kNames) {
    if (name == text) return overlap;
    absl::StrAppend(&known, known.empty() ? "" : ", ", text);
  }
  return absl::InvalidArgumentError(absl::StrCat("--overlap ", name, " is none of ", known));
}

}  // namespace yard
