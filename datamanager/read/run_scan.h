#ifndef DATAMANAGER_READ_RUN_SCAN_H_
#define DATAMANAGER_READ_RUN_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datamanager/read/run_data.h"
#include "eventlog/file_scan.h"

namespace datamanager {

// The file of a run that is read.
struct ScannedFile {
  std::string path;
  std::uint32_t number = 0;  // Number of the file in the run.
};

// Reads what is new in a file, as eventlog::ScanFile(), into `data`; moves file->position and
// counts in `file`, which need not be one of data->files(). TensorBoard's events or MindSpore's, as
// file->listed.kind says.
eventlog::FileScanResult ScanNew(const ScannedFile& which, const eventlog::FileScanOptions& options,
                                 eventlog::ReadBuffer* buffer, RunFileData* file, RunData* data);

// The same for records that were counted: their points and values are added again.
struct ScannedAgain {
  eventlog::FilePosition* position = nullptr;
  // By tag: whether its kind was there by then. Values before a tag's first metadata were used as
  // values of a tag without any.
  std::vector<bool>* settled = nullptr;
};
eventlog::FileScanResult ScanAgain(const ScannedFile& which,
                                   const eventlog::FileScanOptions& options,
                                   eventlog::ReadBuffer* buffer, const ScannedAgain& again,
                                   const RunFileData& file, RunData* data);

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_SCAN_H_
