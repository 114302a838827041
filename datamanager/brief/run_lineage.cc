#include "datamanager/brief/run_lineage.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/file_kind.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/mindspore_event.h"
#include "eventlog/record_scan.h"

namespace datamanager {
namespace {

using eventlog::LineageKind;
using Files = std::vector<ListedFile>;

// The files that were last read, and the outcome.
struct Seen {
  ListedRunPtr run;
  Files files;
  absl::Status outcome;
};
constexpr std::string_view kSeenKey = "lineage files";

Files LineageFiles(const ListedRun& run) {
  Files files;
  for (const ListedFile& file : run.files) {
    if (file.kind == FileKind::kMindSporeLineage) files.push_back(file);
  }
  std::sort(files.begin(), files.end(), [](const ListedFile& a, const ListedFile& b) {
    return std::tie(a.create_us, a.name) < std::tie(b.create_us, b.name);
  });
  return files;
}

// Serialized messages. Protobuf merges concatenated messages: their repeated fields are joined.
struct Records {
  std::string train, evaluation, dataset, user_defined;

  void Take(std::string_view payload) {
    const auto event = eventlog::DecodeLineageEvent(payload);
    // As in all event files, a malformed record is skipped.
    if (!event.ok()) return;
    switch (event->kind) {
      case LineageKind::kTrain:
        train = event->bytes;
        break;
      case LineageKind::kEvaluation:
        evaluation = event->bytes;
        break;
      case LineageKind::kDataset:
        dataset = event->bytes;
        break;
      case LineageKind::kUserDefined:
        user_defined += event->bytes;
        break;
      case LineageKind::kNone:
      case LineageKind::kFileVersion:
        break;
    }
  }
};

absl::Status ReadFile(const std::string& path, eventlog::OpenFileBound* open_files,
                      Records* records) {
  eventlog::FilePosition position;
  eventlog::ReadBuffer buffer;
  eventlog::FileFaults faults;
  const auto result = eventlog::ScanFile(
      path, {.open_files = open_files}, &position, &buffer, &faults,
      [records](eventlog::RecordChunk chunk, const eventlog::RecordLimits& limits,
                eventlog::RecordPosition* at, eventlog::FileFaults* found) {
        return eventlog::ScanRecords(
            chunk, limits, at, found,
            [records](std::string_view payload, std::uint64_t) { records->Take(payload); });
      });
  using Outcome = eventlog::ScanOutcome;
  if (result.outcome == Outcome::kRead || result.outcome == Outcome::kUnchanged) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("cannot read the lineage in ", path, ": ", result.status.message()));
}

absl::Status AppendJson(LineageKind kind, const std::string& bytes, std::string* text) {
  if (bytes.empty()) return absl::OkStatus();
  auto json = eventlog::LineageJson(kind, bytes);
  if (!json.ok()) return json.status();
  *text = *std::move(json);
  return absl::OkStatus();
}

absl::StatusOr<RunLineage> Read(const std::string& directory, const Files& files,
                                eventlog::OpenFileBound* open_files) {
  Records records;
  for (const ListedFile& file : files) {
    const std::string path = absl::StrCat(directory, "/", file.name);
    if (file.state.bytes > kMaxLineageBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot read the lineage in ", path,
                                                       ": it has ", file.state.bytes,
                                                       " bytes, more than ", kMaxLineageBytes));
    }
    if (absl::Status read = ReadFile(path, open_files, &records); !read.ok()) return read;
  }
  RunLineage lineage;
  absl::Status good = AppendJson(LineageKind::kTrain, records.train, &lineage.train);
  good.Update(AppendJson(LineageKind::kEvaluation, records.evaluation, &lineage.evaluation));
  good.Update(AppendJson(LineageKind::kDataset, records.dataset, &lineage.dataset));
  good.Update(AppendJson(LineageKind::kUserDefined, records.user_defined, &lineage.user_defined));
  if (!good.ok()) return good;
  return lineage;
}

absl::Status Update(BriefItem& item, eventlog::OpenFileBound* open_files) {
  const auto seen = item.Get<Seen>(kSeenKey, BriefItem::Missing::kNothing);
  if (!seen.ok()) return seen.status();
  const ListedRunPtr run = item.run();
  if (*seen != nullptr && (*seen)->run == run) return (*seen)->outcome;
  Seen now{run, LineageFiles(*run), absl::OkStatus()};
  if (*seen != nullptr && (*seen)->files == now.files) {
    now.outcome = (*seen)->outcome;
  } else if (now.files.empty()) {
    item.Delete(BriefCache::kLineage, BriefItem::Missing::kNothing).IgnoreError();
  } else {
    auto lineage = Read(run->directory, now.files, open_files);
    if (absl::IsUnavailable(lineage.status())) {
      // Makes the next scan retry, even if nothing changes until then.
      item.Delete(kSeenKey, BriefItem::Missing::kNothing).IgnoreError();
      return lineage.status();
    }
    now.outcome = lineage.ok() ? item.Set(BriefCache::kLineage,
                                          std::make_shared<const RunLineage>(*std::move(lineage)))
                               : lineage.status();
  }
  const absl::Status outcome = now.outcome;
  const absl::Status kept = item.Set(kSeenKey, std::make_shared<const Seen>(std::move(now)));
  return kept.ok() ? outcome : kept;
}

}  // namespace

absl::StatusOr<RunLineage> ReadRunLineage(const ListedRun& run,
                                          eventlog::OpenFileBound* open_files) {
  return Read(run.directory, LineageFiles(run), open_files);
}

BriefCache::Updater LineageUpdater(eventlog::OpenFileBound* open_files) {
  return {std::string(BriefCache::kLineage),
          [open_files](BriefItem& item) { return Update(item, open_files); }};
}

}  // namespace datamanager
