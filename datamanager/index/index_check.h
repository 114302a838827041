#ifndef DATAMANAGER_INDEX_INDEX_CHECK_H_
#define DATAMANAGER_INDEX_INDEX_CHECK_H_

#include "absl/status/status.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"

namespace datamanager {

// Whether the files of a run can still be those that its index speaks of, by what its directory
// says: each that was read is there, is of the same kind, not shorter than it was read, not older
// than it was, and was not written if it has not grown, whatever was done to its times. (So a
// chmod, or another name, costs reading it again once.) No file is opened. What a file holds is
// compared when it is read on (eventlog/file_scan.h): its first KiB and the last 4 KiB before the
// place, unless the inode says that nothing has changed.
//
// Stricter than a reader that was there all the time: it sees a file grow in small steps, and
// compares at each of them. Another inode is no other file, as there: rsync makes one for each
// growth.
//
// FailedPrecondition names the file. Pure; any thread.
absl::Status CheckIndex(const IndexedRun& index, const ListedRun& run);

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_CHECK_H_
