#ifndef DATAMANAGER_READ_RUN_SCAN_H_
#define DATAMANAGER_READ_RUN_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datamanager/read/run_data.h"
#include "eventlog/file_scan.h"

namespace datamanager {

// The file of a run that is being read.
struct ScannedFile {
  std::string path;
  std::uint32_t number = 0;  // Number of the file in the run.
};

// Reads new records of a file into `data`, as eventlog::ScanFile() does. Advances file->position
// and counts in `file`, which need not be one of data->files(). file->listed.kind selects
// TensorBoard's or MindSpore's events.
eventlog::FileScanResult ScanNew(const ScannedFile& which, const eventlog::FileScanOptions& options,
                                 eventlog::ReadBuffer* buffer, RunFileData* file, RunData* data);

// The same for records that were counted before: adds their points and values again.
struct ScannedAgain {
  eventlog::FilePosition* position = nullptr;
  // By tag: whether its kind was known by then. Values before a tag's first metadata were used like
  // values of a tag without metadata.
  std::vector<bool>* settled = nullptr;
};
eventlog::FileScanResult ScanAgain(const ScannedFile& which,
                                   const eventlog::FileScanOptions& options,
                                   eventlog::ReadBuffer* buffer, const ScannedAgain& again,
                                   const RunFileData& file, RunData* data);

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_SCAN_H_
