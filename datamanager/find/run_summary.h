#ifndef DATAMANAGER_FIND_RUN_SUMMARY_H_
#define DATAMANAGER_FIND_RUN_SUMMARY_H_

// Derives a listed run from the states of its files. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "datamanager/find/directory_source.h"
#include "datamanager/find/listed_run.h"

namespace datamanager {

// Returns the time of birth, otherwise that of the inode change, in microseconds since 1970.
std::int64_t CreatedUs(const FileStat& state);
// Sets the facts of a file, whose name is already set, from its state; returns true if any has
// changed.
bool TakeFileStat(const FileStat& state, ListedFile* file);
// Sets the times and the size of a run from its files, or from its profile if it has no files.
void SummariseFiles(ListedRun* run);
// Returns the sorted names of files that were added, removed or changed.
std::vector<std::string> ChangedFiles(const ListedRun& before, const ListedRun& now);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_SUMMARY_H_
