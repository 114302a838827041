#include "tools/yard/run/disk_usage_view.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

std::uint64_t Sum(const msg::DiskUsageReplyT& usage) {
  std::uint64_t bytes = 0;
  for (const auto& run : usage.runs) bytes += run->bytes;
  return bytes;
}

nlohmann::json Json(const msg::DiskUsageReplyT& usage, std::size_t shown) {
  nlohmann::json runs = nlohmann::json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const msg::RunDiskUsageT& run = *usage.runs[i];
    runs.push_back({{"run", run.run},
                    {"bytes", run.bytes},
                    {"checkpoint_bytes", run.checkpoint_bytes},
                    {"event_bytes", run.event_bytes},
                    {"log_bytes", run.log_bytes},
                    {"files", run.files}});
  }
  return {{"logdir", usage.logdir},
          {"runs", std::move(runs)},
          {"bytes", Sum(usage)},
          {"trash_bytes", usage.trash_bytes},
          {"free_bytes", usage.free_bytes},
          {"total_bytes", usage.total_bytes}};
}

}  // namespace

void ShowDiskUsage(Context& context, const msg::DiskUsageReplyT& usage, std::size_t most) {
  const std::size_t shown = most == 0 ? usage.runs.size() : std::min(most, usage.runs.size());
  if (context.json) return PrintJson(context, Json(usage, shown));
  Table table({"RUN", ">ROOM", ">CHECKPOINTS", ">EVENTS", ">OUTPUT", ">FILES"});
  for (std::size_t i = 0; i < shown; ++i) {
    const msg::RunDiskUsageT& run = *usage.runs[i];
    table.AddRow({run.run, ShortBytes(run.bytes), ShortBytes(run.checkpoint_bytes),
                  ShortBytes(run.event_bytes), ShortBytes(run.log_bytes), absl::StrCat(run.files)});
  }
  std::string text = table.ToString(context.out_width());
  if (shown < usage.runs.size()) {
    absl::StrAppend(&text, "and ", usage.runs.size() - shown, " smaller ones\n");
  }
  absl::StrAppend(&text, runtime::Counted(usage.runs.size(), "run"), ": ", ShortBytes(Sum(usage)),
                  "; the trash: ", ShortBytes(usage.trash_bytes), "; free on the disk of ",
                  runtime::Printable(usage.logdir), ": ", ShortBytes(usage.free_bytes), " of ",
                  ShortBytes(usage.total_bytes), "\n");
  *context.out << text;
}

}  // namespace yard
