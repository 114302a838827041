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
// The unread rest of a large file is cut into parts (run_part.h), which any threads read meanwhile
// and return; the result is the same as if the file had been read from start to end. A part that
// does not fit after the previous one is discarded and read again from there.
//
// Files are read in the order of their names (ReadBefore), nearly as in TensorBoard; files that
// grow in turns are read as they grow. The order is remembered, so that points that are read again
// later come in the same order. Damage loses as little as possible (eventlog/file_scan.h). A file
// that was replaced, truncated, rewritten or removed makes the run start again (RunData). A file
// that cannot be opened or read is skipped and retried, when it is examined again or after all
// other files were read (Step::problem).
//
// Reads TensorBoard's events and MindSpore's, whose tags are named after their plugin
// ("loss/scalar"); a run may have both. The graph is a value of the tag "__run_graph__". Files with
// only a graph, lineage or an explanation are listed, but not read here.
class RunFilesReader {
 public:
  struct Options {
    std::uint64_t generation = 0;  // The first generation.
    std::uint64_t step_bytes = std::uint64_t{4} << 20;
    eventlog::OpenFileBound* open_files = nullptr;  // Not owned; null: no limit.
    // Number of threads that read parts; 1: no file is cut.
    int hands = 1;
    std::uint64_t part_bytes = std::uint64_t{4} << 20;
    // How far to search for the next record after damage, before the file is deferred
    // (ReadDeferred()).
    std::uint64_t search_bytes = std::uint64_t{256} << 20;
  };
  using Part = PartQueue<RunPart>::Ticket;
  struct Step {
    bool more = false;  // More can be read at once, or parts are being read.
    // The run started again in this step; `fresh` lacks the points that were added before that.
    bool anew = false;
    std::uint64_t read_bytes = 0;
    // Latest modification time of the files of which something new was read, in microseconds since
    // 1970; 0 if nothing new was read.
    std::int64_t modified_us = 0;
    std::vector<RunData::Fresh> fresh;
    // Not OK: why the index from which it continued is invalid. Everything known only from that
    // index is read again.
    absl::Status index;
    // Bytes of the files that need not be read, because an index was valid.
    std::uint64_t spared_bytes = 0;
    // Not OK: why it cannot continue for now (out of descriptors, or counted points cannot be read
    // again). The data read so far is unchanged; the caller retries.
    absl::Status status;
    // Without `more`: why the first of the files that are unreadable for now is. All others were
    // read. The next ReadOn() examines them again.
    absl::Status problem;
  };

  RunFilesReader(ListedRunPtr run, Options options);
  RunFilesReader(const RunFilesReader&) = delete;
  RunFilesReader& operator=(const RunFilesReader&) = delete;

  // Updates the listing to that of a later scan. The next steps examine new and changed files; if a
  // file of which something was read is gone, the run starts again.
  void SetRun(ListedRunPtr run);
  // Examine all files of the run, or those of these names, in case they have grown.
  void RecheckAll();
  void Recheck(std::span<const std::string> names);

  // True if files were deferred because a long range contained only damage. They are read on only
  // when this method's counterpart ReadDeferred() is called, so that they take no more time than
  // their caller allows.
  bool has_deferred() const { return !deferred_.empty(); }
  void ReadDeferred();

  // Keeps all points in memory from now on; counted points are read again.
  void KeepPoints();
  void DropPoints();

  // Continues from an index that another reader of the run has stored; call it before the first
  // step. The next steps take the tags, then examine the files. FailedPrecondition, without any
  // change: the files cannot be those of the index (index_check.h).
  absl::Status BeginFrom(IndexReader index);
  // Takes points that were counted and are now wanted in memory from an index. Does nothing unless
  // the index contains exactly the counted data.
  void TakePoints(IndexReader index);
  // Returns the data of a counted run for an index, without the tags (RunData::ToIndex()).
  IndexedRun ToIndex() const;

  // True if nothing is left to do.
  bool idle() const {
    return pending_.empty() && !begin_anew_ && !index_.has_value() && data_.counted() &&
           data_.level();
  }
  // True if less was read of some file than is known to exist.
  bool behind() const;
  // Not OK if none of the files is a readable event file: why the first is not.
  absl::Status Unreadable() const;
  // Reads some step_bytes. `collect`: returns new points in `fresh`. `buffer` is used during the
  // call only.
  Step ReadOn(eventlog::ReadBuffer* buffer, bool collect);

  // Returns a part to read now, without this reader. Null if no part can be read, or if ReadOn() is
  // due, as it is after some parts, so that its caller sees the run grow. The caller must return
  // the part, in any state.
  Part TakePart();
  void GivePart(Part part);
  // Number of threads that have something to read now.
  int hands() const { return std::clamp(static_cast<int>(parts_.hands()), 1, options_.hands); }

  const ListedRunPtr& run() const { return run_; }
  RunData& data() { return data_; }
  const RunData& data() const { return data_; }
  // Total size of all files that are read.
  std::uint64_t total_bytes() const;

 private:
  // Progress of reading counted points again.
  struct Again {
    std::size_t range = 0;
    std::vector<eventlog::FilePosition> positions;  // By number of the file.
    std::vector<bool> settled;                      // By tag: its kind was known by then.
  };
  struct Budget {
    std::uint64_t left = 0;
    bool collect = false;  // New points are collected, so they must be read here.
  };

  std::string PathOf(const RunFileData& file) const;
  // Returns the problem of the first file that is unreadable now but may become readable.
  absl::Status Problem() const;
  void RecheckProblems();
  void AddFile(const ListedFile& listed);
  void BeginAnew(Step* step);
  // Takes tags from the index.
  void TakeTags(Budget* budget, Step* step);
  void SetCounted(Step* step);
  // Reads on in the first pending file.
  void ReadNew(eventlog::ReadBuffer* buffer, Budget* budget, Step* step);
  // Marks the file as pending, unless it is deferred.
  void Enqueue(const std::string& name, std::uint32_t number);
  // Returns how much of a large file is read before it is cut into parts.
  std::uint64_t FirstBytes() const;
  // True if nothing was read of the file, and it is large enough for parts.
  bool BeginsLarge(const RunFileData& file) const;
  // Cuts the unread rest of the file into parts, if it is large.
  void CutIntoParts(std::uint32_t number, std::uint64_t size);
  std::unique_ptr<RunPart> MakePart(std::uint32_t number, PartQueue<RunPart>::Range range) const;
  // Appends the complete parts at the front.
  void JoinParts();
  // True if nothing else can be done before the first part is complete.
  bool WaitsForParts() const;
  // Notes that the file was read from `before` to its present position.
  void NoteRange(std::uint32_t number, std::uint64_t before);
  // Handles the result of a scan; returns true if the file needs no more reading for now.
  bool Settle(std::uint32_t number, const eventlog::FileScanResult& result, Step* step);
  // Reads counted points again.
  void ReadAgain(eventlog::ReadBuffer* buffer, Budget* budget, Step* step);

  const Options options_;
  ListedRunPtr run_;
  RunData data_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // Numbers of files by name.
  using PendingFiles = std::map<std::string, std::uint32_t, ReadBefore>;
  PendingFiles pending_;        // Files to examine, by name.
  PendingFiles deferred_;       // Disjoint from pending_.
  std::uint64_t searched_ = 0;  // Bytes searched since the last record of the file being read.
  // The order in which everything was read: an entry for each switch to another file.
  std::vector<IndexedRange> ranges_;
  Again again_;
  bool begin_anew_ = false;  // Start again before anything else is read.
  bool under_way_ = false;   // The last step has left something to do.
  // Set until its tags from next_tag_ on were taken.
  std::optional<IndexReader> index_;
  std::size_t next_tag_ = 0;
  bool from_index_ = false;        // Not all files of the index were examined yet.
  std::uint64_t index_bytes_ = 0;  // Bytes that were read for the index.
  PartQueue<RunPart> parts_;
  std::uint32_t parts_file_ = 0;  // The parts' file.
  int joined_ = 0;                // Parts joined since the last ReadOn().
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_FILES_READER_H_
