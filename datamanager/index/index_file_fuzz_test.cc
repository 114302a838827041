// Feeds arbitrary bytes as an index, as its head and as its data: they are read or refused, even if
// the checksums are correct.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/index/index_file.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/value_series.h"
#include "eventlog/crc32c.h"

namespace {

using datamanager::IndexReader;

void ReadAll(const absl::StatusOr<IndexReader>& reader) {
  if (!reader.ok()) return;
  for (std::size_t i = 0; i < reader->tags().size(); ++i) {
    datamanager::ScalarColumns points;
    datamanager::ValueSeries values;
    if (!reader->Read(i, &points, &values).ok()) continue;
    std::vector<datamanager::Point> all;
    points.Read(0, points.size(), &all);
    if (all.size() != points.size()) abort();
    for (const datamanager::ValuePlace& value : values.all()) {
      if (value.file >= reader->run().files.size()) abort();
    }
    values.Select(reader->tags()[i].marks, datamanager::Overlap::kMindInsight, 0, 1000);
  }
}

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Seal(std::string_view head, std::string_view data) {
  std::string index = "YARDINDX";
  Put(index, datamanager::kIndexVersion);
  Put(index, eventlog::Crc32c(head));
  Put(index, static_cast<std::uint64_t>(head.size()));
  Put(index, eventlog::Crc32c(index));
  return index.append(head).append(data);
}

// The head of an index with one tag, without the length and the checksum of its data.
std::string OneTag() {
  datamanager::IndexedRun run;
  run.files.resize(1);
  datamanager::IndexWriter writer(run);
  datamanager::IndexedTag tag;
  tag.summary.Add({1, 2, 3});
  const datamanager::ScalarColumns points;
  writer.AddTag(tag, &points, {});
  std::string index = *std::move(writer).Finish();
  // The header has 28 bytes; the data's length 1, its checksum 4, the data 2.
  return index.substr(28, index.size() - 28 - 7);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAll(IndexReader::Parse(std::string(bytes)));
  ReadAll(IndexReader::Parse(Seal(bytes, {})));
  static const std::string& head = *new std::string(OneTag());
  std::string with_length = head;
  for (std::size_t length = size;; length >>= 7) {
    with_length.push_back(static_cast<char>(length >= 0x80 ? length | 0x80 : length));
    if (length < 0x80) break;
  }
  Put(with_length, eventlog::Crc32c(bytes));
  const absl::StatusOr<IndexReader> reader = IndexReader::Parse(Seal(with_length, bytes));
  if (!reader.ok()) abort();
  ReadAll(reader);
  return 0;
}
