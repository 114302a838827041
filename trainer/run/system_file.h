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

// The event file of a run's system metrics, beside that of its reports: measurements are no
// reports, so they are in no database and in no other file. The trainer alone writes it. Its bytes
// are the truth of it: a torn record at its end is cut off before the next one is appended, and a
// loss of power costs the last measurements. The file is made with the first of them, and no
// descriptor is kept. One thread; every method blocks for the disk.
//
// Its name sorts before that of the other one: TensorBoard's reader in Python goes from file to
// file in the order of their names and never back, so it stays with the reports.
class SystemFile {
 public:
  SystemFile(std::string run_directory, const RunIdentity& run);

  // "events.out.tfevents.1700000000-sys.HOST.PID.0" for the file of reports of that name without
  // "-sys".
  static std::string NameFor(std::string_view event_file);
  const std::string& path() const { return path_; }

  // Cuts off what is torn, if there is a file. Append() does, too, where somebody else (the kill of
  // a trainer, another program) has left the file otherwise than the last Append().
  absl::Status Repair();
  // One record. NotFound: the run's directory is gone. Any other error names the path, and leaves
  // the file as it was.
  absl::Status Append(double wall_time, std::int64_t step,
                      std::span<const eventlog::Scalar> scalars);
  // Faults that somebody else must have made, found since the last time; in sentences.
  std::vector<std::string> TakeNotices();

 private:
  // The size behind the last sound record; also puts a file aside that is none of ours.
  absl::Status RepairOpened(int fd, std::int64_t size, bool* is_put_aside);
  absl::Status PutAside();
  absl::Status Error(std::string_view what, int error) const;

  const std::string directory_, path_;
  const std::string header_;
  std::int64_t size_ = -1;  // As the last call has left it; -1: not known.
  std::vector<std::string> notices_;
};

}  // namespace trainer

#endif  // TRAINER_RUN_SYSTEM_FILE_H_
