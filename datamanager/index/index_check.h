#ifndef DATAMANAGER_INDEX_INDEX_CHECK_H_
#define DATAMANAGER_INDEX_INDEX_CHECK_H_

#include "absl/status/status.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"

namespace datamanager {

// Checks by the directory alone whether the files of a run can still be those of its index: each
// file that was read exists, has the same kind, is not shorter and not older than when it was read,
// and, if it has not grown, was not written, whatever was done to its times. (A chmod, or renaming,
// therefore costs one more read.) Opens no file. The contents are compared when reading continues
// (eventlog/file_scan.h): the first KiB and the last 4 KiB before the position, unless the inode
// shows that nothing has changed.
//
// The check is stricter than that of a reader that was running all the time, which sees a file grow
// in small steps and compares at each of them. Another inode is not another file, as there: rsync
// creates a new inode for each growth.
//
// FailedPrecondition names the file. Pure; any thread.
absl::Status CheckIndex(const IndexedRun& index, const ListedRun& run);

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_CHECK_H_
