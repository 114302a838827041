#include "datamanager/catalog/run_indexes.h"

// extents_ has, for each run, the extent of the index that was last written or read, or that could
// not be written: after a full disk the next attempt is made when the run has grown, not every
// time.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "datamanager/read/run_data.h"
#include "datamanager/series/value_series.h"
#include "glog/logging.h"

namespace datamanager {
namespace {

using runtime::MutexLock;

constexpr std::size_t kStepBytes = std::size_t{4} << 20;
constexpr std::uint64_t kLeastGrowth = std::uint64_t{1} << 20;
constexpr std::uint64_t kGrowthPart = 8;

bool HoldsAllPoints(const IndexReader& index) {
  return std::all_of(index.tags().begin(), index.tags().end(),
                     [](const IndexedTag& tag) { return tag.has_points; });
}

}  // namespace

// An index under construction, some tags at a time.
struct RunIndexes::Made {
  explicit Made(const RunFilesReader& reader)
      : extent(ExtentOf(reader)), run(reader.run()), writer(reader.ToIndex()) {}

  // Returns true once all tags were added.
  bool AddTags(const RunData& data) {
    static const ValueSeries& none = *new ValueSeries;
    const std::size_t before = writer.bytes();
    for (; next < data.tag_count(); ++next) {
      if (writer.bytes() - before >= kStepBytes) return false;
      const RunData::Tag& tag = data.tag(next);
      const bool values = extent.with_points && tag.values != nullptr;
      writer.AddTag(data.ToIndex(next), extent.with_points ? &tag.points : nullptr,
                    values ? tag.values->places : none);
    }
    return true;
  }

  const Extent extent;
  const ListedRunPtr run;
  IndexWriter writer;
  RunData::TagId next = 0;
};

std::optional<IndexReader> RunIndexes::Read(const ListedRun& run, IndexPart part) {
  absl::StatusOr<IndexReader> index = store_->Read(run.directory, part);
  if (absl::IsNotFound(index.status())) return std::nullopt;
  if (!index.ok()) {
    Refuse(run, index.status());
    return std::nullopt;
  }
  Extent extent{.generation = index->run().generation, .with_points = HoldsAllPoints(*index)};
  for (const IndexedFile& file : index->run().files) extent.bytes += file.position.record.offset;
  MutexLock lock(mutex_);
  extents_[run.name] = extent;
  return *std::move(index);
}

bool RunIndexes::HasPointsOf(const RunFilesReader& reader) const {
  const RunData& data = reader.data();
  MutexLock lock(mutex_);
  const auto known = extents_.find(reader.run()->name);
  return known != extents_.end() &&
         known->second == Extent{data.generation(), data.read_bytes(), true};
}

void RunIndexes::Refuse(const ListedRun& run, const absl::Status& why) {
  LOG(WARNING) << "run " << run.name << " is read anew, its index is of no use: " << why.message();
  store_->Remove(run.directory);
  MutexLock lock(mutex_);
  ++stats_.refused;
  extents_.erase(run.name);
  refused_.insert(run.name);
}

RunIndexes::Extent RunIndexes::ExtentOf(const RunFilesReader& reader) {
  const RunData& data = reader.data();
  return {data.generation(), data.read_bytes(), data.cached()};
}

void RunIndexes::Stepped(const RunFilesReader& reader, const RunFilesReader::Step& step) {
  const std::string& run = reader.run()->name;
  if (!step.index.ok()) Refuse(*reader.run(), step.index);
  MutexLock lock(mutex_);
  if (step.spared_bytes > 0) {
    ++stats_.used;
    stats_.spared_bytes += step.spared_bytes;
  }
  if (!reader.idle()) return;
  const Extent now = ExtentOf(reader);
  if (now.bytes == 0) return;
  const auto known = extents_.find(run);
  const bool fits = known != extents_.end() && known->second.generation == now.generation &&
                    known->second.with_points >= now.with_points;
  const std::uint64_t grown = fits ? now.bytes - known->second.bytes : 0;
  if (fits && grown == 0) return;
  changed_.insert(run);
  const std::uint64_t enough = fits ? std::max(kLeastGrowth, known->second.bytes / kGrowthPart) : 0;
  if (grown >= enough) due_.insert(run);
}

void RunIndexes::Forget(const ListedRun& run) {
  store_->Remove(run.directory);
  MutexLock lock(mutex_);
  extents_.erase(run.name);
  refused_.erase(run.name);
  due_.erase(run.name);
  changed_.erase(run.name);
}

void RunIndexes::Write(Which which, const WithReader& with_reader,
                       const std::function<bool()>& go_on) {
  const bool due = which == Which::kDue;
  if (due && writing_due_.exchange(true)) return;
  std::set<std::string> runs;
  {
    MutexLock lock(mutex_);
    runs = due ? due_ : changed_;
  }
  for (const std::string& run : runs) {
    if (!go_on()) break;
    WriteOne(run, with_reader);
  }
  if (due) writing_due_ = false;
}

std::unique_ptr<RunIndexes::Made> RunIndexes::Make(const std::string& run,
                                                   const WithReader& with_reader) {
  std::unique_ptr<Made> made;
  bool ended = false;
  bool whole = false;
  while (!ended) {
    const bool there = with_reader(run, [&](const RunFilesReader& reader) {
      ended = !reader.idle() || (made != nullptr && ExtentOf(reader) != made->extent);
      if (ended) return;
      if (made == nullptr) made = std::make_unique<Made>(reader);
      ended = whole = made->AddTags(reader.data());
    });
    if (!there) ended = true;
  }
  return whole ? std::move(made) : nullptr;
}

void RunIndexes::WriteOne(const std::string& run, const WithReader& with_reader) {
  {
    // If another thread reads on in the run meanwhile, it marks the run again.
    MutexLock lock(mutex_);
    due_.erase(run);
    changed_.erase(run);
  }
  const std::unique_ptr<Made> made = Make(run, with_reader);
  if (made == nullptr) return;
  const absl::Status status =
      store_->Write(made->run->directory, made->run->update_us, std::move(made->writer));
  MutexLock lock(mutex_);
  extents_[run] = made->extent;
  if (status.ok()) {
    ++stats_.written;
    stats_.rebuilt += refused_.erase(run);
  } else {
    LOG_IF(WARNING, stats_.failed++ == 0)
        << "some runs will be read anew after a restart: " << status.message();
  }
}

RunIndexes::Stats RunIndexes::GetStats() const {
  Stats stats;
  {
    MutexLock lock(mutex_);
    stats = stats_;
  }
  stats.store = store_->GetStats();
  return stats;
}

}  // namespace datamanager
