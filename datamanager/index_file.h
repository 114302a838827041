#ifndef DATAMANAGER_INDEX_FILE_H_
#define DATAMANAGER_INDEX_FILE_H_

// All that is known of a run, as one file, so that a restart need not read the run again. No reader
// of event files has such a thing. It is disposable: whatever is wrong with it, the caller deletes
// it and reads the run. A reader never trusts it: one flipped, missing or added byte is DataLoss,
// and lengths and counts are held against what is there, also where the checksums are right.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/overlap_policy.h"
#include "datamanager/scalar_columns.h"
#include "datamanager/scalar_summary.h"
#include "datamanager/value_series.h"

namespace datamanager {

inline constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 30;

// What was found wrong with a file, by kind. The numbers of kinds are the caller's.
struct IndexedFault {
  std::uint8_t kind = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_offset = 0;
  std::uint64_t last_offset = 0;

  bool operator==(const IndexedFault&) const = default;
};

// One file of the run, as it was, and how far it had been read.
struct IndexedFile {
  std::string name;
  std::uint8_t format = 0;  // The caller's number.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // Since 1970; of the inode's data, and of the inode.
  std::int64_t changed_ns = 0;
  std::uint64_t offset = 0;  // Behind the last record that was read.
  std::uint32_t first_record_crc = 0;
  std::uint64_t last_record_offset = 0;
  std::uint32_t last_record_crc = 0;
  std::uint64_t records = 0;
  double version = 0;
  std::string writer;
  std::vector<IndexedFault> faults;

  bool operator==(const IndexedFile&) const = default;
};

// Records of one file that were read before those of another.
struct IndexedStretch {
  std::uint32_t file = 0;  // Place in IndexedRun::files.
  std::uint64_t end = 0;   // Offset behind them.

  bool operator==(const IndexedStretch&) const = default;
};

struct IndexedRun {
  std::string directory;  // Canonical.
  std::uint64_t generation = 0;
  std::vector<IndexedFile> files;
  std::vector<IndexedStretch> stretches;
  PurgeLog::State purges;

  bool operator==(const IndexedRun&) const = default;
};

// One tag without its points.
struct IndexedTag {
  std::string name;
  std::string plugin;
  std::int32_t data_class = 0;
  std::string display_name;
  std::string description;
  std::string content;  // Of the plugin, as it is.
  ScalarSummary summary;
  SeriesMarks marks;
  // The points are in the index too. If not, only `summary` is known of them.
  bool has_points = false;
};

// Makes an index, in memory. What is in it is the same for the same calls.
class IndexWriter {
 public:
  explicit IndexWriter(const IndexedRun& run);
  // `points` is null if they were given back; `tag.has_points` is not looked at.
  void AddTag(const IndexedTag& tag, const ScalarColumns* points, const ValueSeries& values);
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
  // Of a whole index, or of its head alone, which is what stands before the data. DataLoss if it is
  // damaged; FailedPrecondition if its format is of another version. The data of a tag are checked
  // when they are read.
  static absl::StatusOr<IndexReader> Parse(std::string index);
  static absl::StatusOr<IndexReader> ParseHead(std::string_view head);

  const IndexedRun& run() const { return run_; }
  std::span<const IndexedTag> tags() const { return tags_; }
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

// Replaces the file at `path` in one step; readable by its owner alone. The errors of
// IndexWriter::Finish() and of writing, which name the path.
absl::Status WriteIndex(const std::string& path, IndexWriter writer);

enum class IndexPart { kAll, kHead };
// Reads the index of the run in `run_directory`. NotFound if there is none, or it is that of
// another run whose name happens to be the same; DataLoss and FailedPrecondition as Parse().
absl::StatusOr<IndexReader> ReadIndex(const std::string& path, std::string_view run_directory,
                                      IndexPart part);

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_FILE_H_
