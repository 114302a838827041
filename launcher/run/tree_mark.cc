#include "launcher/run/tree_mark.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/process/process_table.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxMark = 64 * 1024;

}  // namespace

TreeMark ReadTreeMark(const std::string& folder) {
  const auto content =
      runtime::ReadFile(absl::StrCat(folder, "/", runtime::Absl(kStartedFile)), kMaxMark);
  auto mark = content.ok() ? TreeMark::Decode(*content) : std::nullopt;
  if (!mark || mark->boot.empty() || mark->boot != BootId()) return {};
  return *std::move(mark);
}

}  // namespace launcher
