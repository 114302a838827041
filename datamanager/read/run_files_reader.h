#ifndef DATAMANAGER_READ_RUN_FILES_READER_H_
#define DATAMANAGER_READ_RUN_FILES_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"
#include "datamanager/read/part_queue.h"
#include "datamanager/read/run_data.h"
#include "datamanager/read/run_part.h"
#include "eventlog/file_scan.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// Reads the files of one run into its RunData, a little at a time, each file from where the last
// read ended. Not thread safe; ReadOn() blocks on the disk.
//
// What is left of a large file is cut into parts (run_part.h), which any threads read meanwhile and
// give back; what comes out is as if the file had been read from its start to its end. A part that
// does not fit behind the one before it is thrown away, and read on behind that.
//
// Files are read in the order of their names (ReadBefore), nearly as TensorBoard does; those that
// grow in turns, as they grow. In which order, is remembered, so that points which are read again
// later come in the same one. Damage costs what it must (eventlog/file_scan.h). A file that was
// replaced, cut short, rewritten or removed makes the run begin anew (RunData); one that cannot be
// opened or read is left out, and tried again when it is looked at, or after all the others have
// been read (Step::problem).
//
// TensorBoard's events, and MindSpore's, whose tags are named after their plugin ("loss/scalar");
// a run may have both. The graph is a value of the tag "__run_graph__". A file that holds a graph
// alone, lineage or an explanation is listed, not read here.
class RunFilesReader {
 public:
  struct Options {
    std::uint64_t generation = 0;  // To begin with.
    std::uint64_t step_bytes = std::uint64_t{4} << 20;
    eventlog::OpenFileBound* open_files = nullptr;  // Not owned; null: no bound.
    // On how many threads parts are read; 1: no file is cut.
    int hands = 1;
    std::uint64_t part_bytes = std::uint64_t{4} << 20;
    // Behind damage a file is searched so far for the next record; then it waits (ReadDeferred()).
    std::uint64_t search_bytes = std::uint64_t{256} << 20;
  };
  using Part = PartQueue<RunPart>::Ticket;
  struct Step {
    bool more = false;  // There is more to read at once; or parts are out.
    // The run began anew in this step; points that were added before it did are not in `fresh`.
    bool anew = false;
    std::uint64_t read_bytes = 0;
    // When the newest of the files that something new was read of was written; microseconds since
    // 1970, 0 if nothing new was read.
    std::int64_t modified_us = 0;
    std::vector<RunData::Fresh> fresh;
    // Not OK: why the index that it went on from is of no use. All that is known from that index
    // alone is read anew.
    absl::Status index;
    // So many bytes of the files need not be read, as an index was right.
    std::uint64_t spared_bytes = 0;
    // Not OK: why it cannot go on for now (no descriptor was left, or points that were counted
    // cannot be read again). The data read so far are as they were; the caller tries again.
    absl::Status status;
    // Without `more`: of the files that cannot be read for now, why the first cannot. All others
    // have been read. ReadOn() looks at them again when it is called next.
    absl::Status problem;
  };

  RunFilesReader(ListedRunPtr run, Options options);
  RunFilesReader(const RunFilesReader&) = delete;
  RunFilesReader& operator=(const RunFilesReader&) = delete;

  // The run as a later scan lists it. Files that are new or have changed are looked at in the next
  // steps; if files are gone that something was read of, the run begins anew there.
  void SetRun(ListedRunPtr run);
  // Look at all files of the run, or at those of these names, in case they have grown.
  void RecheckAll();
  void Recheck(std::span<const std::string> names);

  // There are files that are hardly worth it: nothing but damage was found in a long range. They
  // are not read on unless this is called, so that they take no more time than their caller gives.
  bool has_deferred() const { return !deferred_.empty(); }
  void ReadDeferred();

  // All points are to be in memory from now on; those that were counted before are read again.
  void KeepPoints();
  void DropPoints();

  // Goes on from what another reader of the run has stored; before the first step. The tags are
  // taken in by the next steps, then the files are looked at. FailedPrecondition, and nothing is
  // done: they cannot be those of the index (index_check.h).
  absl::Status BeginFrom(IndexReader index);
  // The same for points that were counted and are to be in memory now. The index has to hold
  // exactly what was counted; with any other index nothing is done.
  void TakePoints(IndexReader index);
  // The data of a counted run that are to be stored, but for the tags (RunData::ToIndex()).
  IndexedRun ToIndex() const;

  // Nothing is left to do.
  bool idle() const {
    return pending_.empty() && !begin_anew_ && !index_.has_value() && data_.counted() &&
           data_.level();
  }
  // Less was read of some file than is known to be there.
  bool behind() const;
  // Not OK: none of the files can be read, or is an event file, and why the first is not.
  absl::Status Unreadable() const;
  // Reads some step_bytes. `collect`: gives back new points in `fresh`. The buffer is for the call.
  Step ReadOn(eventlog::ReadBuffer* buffer, bool collect);

  // A part that is to be read on now, without this reader; nothing if no part is to be read, or if
  // ReadOn() is due, as it is after some parts, for its caller to see how the run grows. The caller
  // gives it back in any state.
  Part TakePart();
  void GivePart(Part part);
  // On how many threads there is something to read now.
  int hands() const { return std::clamp(static_cast<int>(parts_.hands()), 1, options_.hands); }

  const ListedRunPtr& run() const { return run_; }
  RunData& data() { return data_; }
  const RunData& data() const { return data_; }
  // Bytes of all files that are read.
  std::uint64_t total_bytes() const;

 private:
  // Points that were counted are being read again.
  struct Again {
    std::size_t range = 0;
    std::vector<eventlog::FilePosition> positions;  // By number of the file.
    std::vector<bool> settled;                      // By tag: its kind was there by then.
  };
  struct Budget {
    std::uint64_t left = 0;
    bool collect = false;  // New points are given back, so they come from here alone.
  };

  std::string PathOf(const RunFileData& file) const;
  // The problem of the first file that may be readable later, and is not now.
  absl::Status Problem() const;
  void RecheckProblems();
  void AddFile(const ListedFile& listed);
  void BeginAnew(Step* step);
  // Takes in tags of the index.
  void TakeTags(Budget* budget, Step* step);
  void SetCounted(Step* step);
  // Reads on in the first file that is to be looked at.
  void ReadNew(eventlog::ReadBuffer* buffer, Budget* budget, Step* step);
  // The file is to be looked at, unless that is for later.
  void Enqueue(const std::string& name, std::uint32_t number);
  // How much of a large file is read before it is cut into parts.
  std::uint64_t FirstBytes() const;
  // Nothing was read of the file, and behind so much of it there will be parts.
  bool BeginsLarge(const RunFileData& file) const;
  // Cuts what is left of the file into parts, if it is large.
  void CutIntoParts(std::uint32_t number, std::uint64_t size);
  std::unique_ptr<RunPart> MakePart(std::uint32_t number, PartQueue<RunPart>::Range range) const;
  // Goes on in the file with those parts that are complete.
  void JoinParts();
  // There is nothing else to do before the first part is complete.
  bool WaitsForParts() const;
  // The file was read from `before` to where it is now.
  void NoteRange(std::uint32_t number, std::uint64_t before);
  // Takes in how that went; true if the file is done with for now.
  bool Settle(std::uint32_t number, const eventlog::FileScanResult& result, Step* step);
  // Reads counted points again.
  void ReadAgain(eventlog::ReadBuffer* buffer, Budget* budget, Step* step);

  const Options options_;
  ListedRunPtr run_;
  RunData data_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // Numbers of files by name.
  using PendingFiles = std::map<std::string, std::uint32_t, ReadBefore>;
  PendingFiles pending_;        // Files to look at, by name.
  PendingFiles deferred_;       // None of these is in pending_.
  std::uint64_t searched_ = 0;  // Bytes searched in the file that is read, since its last record.
  // In which order it was all read. An entry for each time that another file went on.
  std::vector<IndexedRange> ranges_;
  Again again_;
  bool begin_anew_ = false;  // Before anything else is read.
  bool under_way_ = false;   // The last step has left something to do.
  // Until its tags from next_tag_ on were taken in.
  std::optional<IndexReader> index_;
  std::size_t next_tag_ = 0;
  bool from_index_ = false;        // The files of an index were not all looked at.
  std::uint64_t index_bytes_ = 0;  // Bytes of the files that were read for the index.
  PartQueue<RunPart> parts_;
  std::uint32_t parts_file_ = 0;  // The file that the parts are of.
  int joined_ = 0;                // Parts since the last ReadOn().
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_FILES_READER_H_
