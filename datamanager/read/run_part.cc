#include "datamanager/read/run_part.h"

#include <utility>

#include "datamanager/series/overlap_policy.h"
#include "eventlog/record_scan.h"

namespace datamanager {

using eventlog::ScanOutcome;

RunPart::RunPart(Options options) : options_(std::move(options)) {
  data_.purges() = PurgeLog::ForSecondPart();
  if (options_.keep_points) data_.KeepPoints();
  file_.listed = options_.listed;
  file_.age = options_.age;
  file_.position = eventlog::SeekPosition(options_.begin);
}

std::uint64_t RunPart::ReadOn(eventlog::ReadBuffer* buffer) {
  if (complete_) return 0;
  data_.BeginChanges(false);
  const eventlog::FileScanResult result = ScanNew(options_.which,
                                                  {.step_bytes = options_.step_bytes,
                                                   .limits = {.end = options_.end},
                                                   .open_files = options_.open_files},
                                                  buffer, &file_, &data_);
  data_.EndChanges();
  failed_ = result.outcome != ScanOutcome::kRead && result.outcome != ScanOutcome::kUnchanged;
  complete_ = failed_ || !result.more || file_.position.record.offset >= options_.end;
  return result.read_bytes;
}

bool RunPart::JoinTo(RunFileData* file, RunData* data) {
  if (failed_) return false;
  auto joined = eventlog::JoinPositions(file->position, file_.position);
  if (!joined.has_value() || !data->Append(std::move(data_), file->age)) return false;
  // The file may have changed between the reads; cleared so that the next read compares its
  // contents.
  joined->change_ns = 0;
  joined->size = 0;
  file->position = *joined;
  file->faults.Add(file_.faults);
  file->records += file_.records;
  file->points += file_.points;
  if (file->bad_tag.empty()) file->bad_tag = file_.bad_tag;
  return true;
}

}  // namespace datamanager
