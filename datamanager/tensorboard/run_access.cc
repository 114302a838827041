#include "datamanager/tensorboard/run_access.h"

#include <algorithm>

#include "absl/status/status.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/tensorboard/shown_values.h"
#include "runtime/text/utf8.h"

namespace datamanager::tensorboard {

using Need = RunSource::Need;

void RunAccess::ReadKnown(const std::string& run, const ReadFunction& use) const {
  (void)catalog_.Read({.run = run, .need = Need::kCounts, .take_part = true},
                      [&](const View& view) {
                        use(view);
                        return absl::OkStatus();
                      });
}

void RunAccess::ReadAll(const std::string& run, absl::Duration deadline,
                        const ReadFunction& use) const {
  const auto once = [&](const View& view) {
    use(view);
    return absl::OkStatus();
  };
  const absl::Duration left = std::max(deadline - catalog_.Monotonic(), absl::ZeroDuration());
  const absl::Status read =
      catalog_.ReadWithin(left, {.run = run, .need = Need::kPoints, .whole = true}, once);
  if (!absl::IsDeadlineExceeded(read) && !absl::IsUnavailable(read)) return;
  (void)catalog_.Read({.run = run, .need = Need::kPoints}, once);
}

bool HasMindSpore(const ListedRun& run) {
  return std::any_of(run.files.begin(), run.files.end(),
                     [](const ListedFile& file) { return file.kind == FileKind::kMindSpore; });
}

void ForEachTag(const RunSource::View& view, const SeriesRequest& request,
                eventlog::DataClass data_class,
                const std::function<void(RunData::TagId, const RunData::Tag&)>& use) {
  const bool mindspore = HasMindSpore(view.listed);
  for (const RunData::TagId id : view.data.TagsByName()) {
    const RunData::Tag& tag = view.data.tag(id);
    if (ShownClass(tag) != data_class || ShownPlugin(tag, mindspore) != request.plugin) continue;
    if (!request.tags.all && !request.tags.Includes(runtime::LossyUtf8(view.data.tag_name(id))))
      continue;
    use(id, tag);
  }
}

}  // namespace datamanager::tensorboard
