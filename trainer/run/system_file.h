#ifndef TRAINER_RUN_SYSTEM_FILE_H_
#define TRAINER_RUN_SYSTEM_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/event.h"
#include "trainer/run/result_files.h"

namespace trainer {

// The event file of a run's system metrics, beside that of its reports. Measurements are not
// reports, so this file is their only record, and only the trainer writes it. A torn record at its
// end is truncated before the next append, and a power failure loses the last measurements. The
// first measurement creates the file; no descriptor stays open. Not thread-safe; every method
// blocks for the disk.
//
// Its name sorts before that of the other event file: TensorBoard's Python reader goes through the
// files in name order and never back, so it must end at the file of reports.
class SystemFile {
 public:
  SystemFile(std::string run_directory, const RunIdentity& run);

  // Returns "events.out.tfevents.1700000000-sys.HOST.PID.0" for the file of reports with the same
  // name without "-sys".
  static std::string NameFor(std::string_view event_file);
  const std::string& path() const { return path_; }

  // Truncates a torn end, if the file exists. Append() does so too if the file is not as its last
  // call left it (because a trainer was killed, or another program wrote).
  absl::Status Repair();
  // Appends one record. NotFound if the run's directory is gone. Any other error names the path,
  // and leaves the file unchanged.
  absl::Status Append(double wall_time, std::int64_t step,
                      std::span<const eventlog::Scalar> scalars);
  // Returns, as sentences, the damage by other programs that was found since the last call.
  std::vector<std::string> TakeNotices();

 private:
  // Returns the size up to the last valid record; renames a file that is not ours.
  absl::Status RepairOpened(int fd, std::int64_t size, bool* is_put_aside);
  absl::Status PutAside();
  absl::Status Error(std::string_view what, int error) const;

  const std::string directory_, path_;
  const std::string header_;
  std::int64_t size_ = -1;  // As left by the last call; -1: unknown.
  std::vector<std::string> notices_;
};

}  // namespace trainer

#endif  // TRAINER_RUN_SYSTEM_FILE_H_
