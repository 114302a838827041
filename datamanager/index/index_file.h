#ifndef DATAMANAGER_INDEX_INDEX_FILE_H_
#define DATAMANAGER_INDEX_INDEX_FILE_H_

// All that is known of a run, as one file, so that a restart need not read the run again. No reader
// of event files has such a thing. It is disposable: if anything is wrong with it, the caller
// deletes it and reads the run. A reader never trusts it: one flipped, missing or added byte is
// DataLoss, and lengths and counts are held against what is there, also where the checksums are
// right.
//
//   0   8  "YARDINDX"
//   8   4  version of this format
//   12  4  CRC-32C of the head
//   16  8  length of the head
//   24  4  CRC-32C of bytes 0 to 23
//   28     the head: the run, its files, its tags without their points
//          the data: for each tag in turn its blocks and its values' places, with a CRC-32C of its
//          own in the head
//
// All little endian. The head alone is enough to list a run, its tags and the number of their
// points. Whether the run's files are still those it speaks of is for the caller to say, from
// IndexedFile.
//
// Not thread safe; const methods may run together. The functions with a path may block.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "datamanager/series/value_series.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"

namespace datamanager {

// Raised with each change of the format.
inline constexpr std::uint32_t kIndexVersion = 4;
inline constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 30;

// One file of the run, as it was, and how far it had been read.
struct IndexedFile {
  std::string name;
  std::uint8_t format = 0;  // The caller's number.
  // When it was written last, nanoseconds since 1970, as it was at `position`; 0: not known.
  std::int64_t modified_ns = 0;
  eventlog::FilePosition position;
  std::uint64_t records = 0;
  std::uint64_t points = 0;  // And other values.
  std::string version;       // "brain.Event:2"
  std::string writer;
  std::string bad_tag;                  // As RunFileData has it.
  std::vector<eventlog::Fault> faults;  // By kind, each once.

  bool operator==(const IndexedFile&) const = default;
};

// Records of one file that were read before those of another.
struct IndexedRange {
  std::uint32_t file = 0;  // Place in IndexedRun::files.
  std::uint64_t end = 0;   // Offset behind them.

  bool operator==(const IndexedRange&) const = default;
};

struct IndexedRun {
  std::string directory;  // Canonical.
  std::uint64_t generation = 0;
  double start_time = std::numeric_limits<double>::quiet_NaN();  // NaN: nobody knows.
  std::vector<IndexedFile> files;
  std::vector<IndexedRange> ranges;
  PurgeLog::State purges;

  bool operator==(const IndexedRun&) const = default;
};

// One tag without its points and values.
struct IndexedTag {
  std::string name;
  std::string plugin;
  std::int32_t data_class = 0;
  std::string display_name;
  std::string description;
  std::string content;   // The plugin's content, as it is.
  bool settled = false;  // All of these stay as they are.
  bool implied = false;  // By a value of the old style.
  ScalarSummary summary;
  SeriesMarks marks;
  // Covers values that are no scalars, by their steps and times alone.
  ScalarSummary value_summary;
  SeriesMarks value_marks;
  std::uint32_t most_blobs = 0;  // In one of them.
  // The points and values are in the index too. If not, only the summaries are known of them.
  bool has_points = false;
};

// Makes an index, in memory. The same calls make the same index.
class IndexWriter {
 public:
  explicit IndexWriter(const IndexedRun& run);
  // `points` is null if they and the values were given back; then `values` is empty.
  // `tag.has_points` is not looked at.
  void AddTag(const IndexedTag& tag, const ScalarColumns* points, const ValueSeries& values);
  // Size of the index, as far as it was made.
  std::size_t bytes() const { return run_.size() + tag_heads_.size() + data_.size(); }
  // The file's bytes. ResourceExhausted if they are more than kMaxIndexBytes.
  absl::StatusOr<std::string> Finish() &&;

 private:
  bool HasRoom() const;

  std::string run_;
  std::uint64_t tags_ = 0;
  std::string tag_heads_;
  std::string data_;
};

class IndexReader {
 public:
  // Parses a whole index, or its head alone, which is the part before the data. DataLoss if it is
  // damaged; FailedPrecondition if its format is of another version. The data of a tag are checked
  // when they are read.
  static absl::StatusOr<IndexReader> Parse(std::string index);
  static absl::StatusOr<IndexReader> ParseHead(std::string_view head);

  const IndexedRun& run() const { return run_; }
  std::span<const IndexedTag> tags() const { return tags_; }
  // Not the head alone.
  bool whole() const { return !index_.empty(); }
  // Appends the points and the values of tags()[tag], which must be empty series. DataLoss if they
  // are damaged; FailedPrecondition if there is only a head.
  absl::Status Read(std::size_t tag, ScalarColumns* points, ValueSeries* values) const;
  // Length of the whole index, by what the head says.
  std::uint64_t size() const { return data_begin_ + data_length_; }

 private:
  struct Place {
    std::uint64_t begin = 0;  // In the index.
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
  };
  absl::Status ReadHead(std::string_view head);

  std::string index_;  // Empty if there is only a head.
  std::uint64_t data_begin_ = 0;
  std::uint64_t data_length_ = 0;
  IndexedRun run_;
  std::vector<IndexedTag> tags_;
  std::vector<Place> places_;
};

// "0123456789abcdef.idx": by which the index of a run in this canonical directory is found.
std::string IndexFileName(std::string_view run_directory);

enum class IndexPart { kAll, kHead };
// Reads the index of the run in `run_directory`. NotFound if the run has no index, or if the file
// is the index of another run and happens to have the same name; PermissionDenied if it belongs to
// somebody else or is a link; DataLoss and FailedPrecondition as Parse().
absl::StatusOr<IndexReader> ReadIndex(const std::string& path, std::string_view run_directory,
                                      IndexPart part);

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_FILE_H_
