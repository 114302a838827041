#ifndef DATAMANAGER_READ_RUN_PART_H_
#define DATAMANAGER_READ_RUN_PART_H_

#include <cstdint>
#include <limits>

#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_data.h"
#include "datamanager/read/run_scan.h"
#include "eventlog/file_scan.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// A part of a large event file, read into data of its own by a thread that works independently of
// the others: the records that begin in [begin, end). The first of them is located by its
// checksums. Because that location may be wrong, JoinTo() compares it with the end of the previous
// part.
//
// Used by one thread at a time.
class RunPart {
 public:
  struct Options {
    ScannedFile which;
    ListedFile listed;
    std::uint32_t age = 0;  // Age of the file.
    std::uint64_t begin = 0;
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
    bool keep_points = false;
    std::uint64_t step_bytes = std::uint64_t{4} << 20;
    eventlog::OpenFileBound* open_files = nullptr;  // Not owned; null: no limit.
  };

  explicit RunPart(Options options);
  RunPart(const RunPart&) = delete;
  RunPart& operator=(const RunPart&) = delete;

  // Reads some step_bytes; blocks on the disk. Returns the number of bytes read.
  std::uint64_t ReadOn(eventlog::ReadBuffer* buffer);
  // True once all of it was read, or it turned out to be useless.
  bool complete() const { return complete_; }

  // Appends the part to the data that was read of the file, as if it had been read there. Returns
  // false, and does nothing, if the part does not begin where `file` ends, or if it depends on
  // earlier data (RunData::Append()). Call it once, on a complete part.
  bool JoinTo(RunFileData* file, RunData* data);

 private:
  const Options options_;
  RunData data_;
  RunFileData file_;
  bool complete_ = false;
  bool failed_ = false;
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_PART_H_
