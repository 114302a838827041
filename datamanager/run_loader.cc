#include "datamanager/run_loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/topic.h"
#include "eventlog/event.h"
#include "eventlog/event_file_reader.h"
#include "glog/logging.h"

namespace datamanager {
namespace {

constexpr char kScalars[] = "scalars";

std::int64_t Microseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace

struct RunLoader::File {
  std::string name;
  std::unique_ptr<eventlog::EventFileReader> reader;  // Null until it could be opened.
};

// Puts points that are read file after file into the order in which they were read before.
class RunLoader::Ranks {
 public:
  explicit Ranks(const std::vector<Stretch>& stretches) {
    for (const Stretch& stretch : stretches) ends_[stretch.file].emplace_back(stretch.end, next_++);
  }
  // The next point of `tag`, from a record at `offset` of `file`.
  void Add(const File& file, std::uint64_t offset, const std::string& tag) {
    by_tag_[tag].push_back(RankOf(file, offset));
  }
  void Apply(Tags& tags) const {
    for (const auto& [name, ranks] : by_tag_) tags.find(name)->second.series.Reorder(ranks);
  }

 private:
  std::uint32_t RankOf(const File& file, std::uint64_t offset) const {
    const auto ends = ends_.find(&file);
    if (ends == ends_.end()) return next_;
    const auto stretch =
        std::upper_bound(ends->second.begin(), ends->second.end(), offset,
                         [](std::uint64_t at, const auto& end) { return at < end.first; });
    // What is behind all of them is new.
    return stretch == ends->second.end() ? next_ : stretch->second;
  }

  std::map<const File*, std::vector<std::pair<std::uint64_t, std::uint32_t>>> ends_;
  std::uint32_t next_ = 0;
  std::map<std::string, std::vector<std::uint32_t>> by_tag_;
};

RunLoader::RunLoader(FoundRun found) : found_(std::move(found)) { SetFiles(found_.files); }
RunLoader::~RunLoader() = default;

void RunLoader::SetFiles(std::vector<std::string> files) {
  found_.files = std::move(files);
  std::vector<std::unique_ptr<File>> open;
  for (const std::string& name : found_.files) {
    const auto known = std::find_if(open_.begin(), open_.end(), [&](const auto& file) {
      return file != nullptr && file->name == name;
    });
    open.push_back(known != open_.end() ? std::move(*known)
                                        : std::make_unique<File>(File{name, nullptr}));
  }
  // A file that is gone takes its points with it.
  const bool lost = std::any_of(open_.begin(), open_.end(), [](const auto& file) {
    return file != nullptr && file->reader != nullptr && file->reader->records() > 0;
  });
  if (lost) {
    WantAnew({});
    stretches_.clear();
  }
  open_ = std::move(open);
}

void RunLoader::WantAnew(const NewPoints& unreturned) {
  if (std::exchange(anew_, true)) return;
  known_.clear();
  for (const auto& [name, tag] : tags_) known_[name] = tag.series.summary().points;
  for (const auto& [name, fresh] : unreturned) known_[name] = fresh.first;
}

void RunLoader::StatFiles() {
  RunFiles files;
  for (const std::string& name : found_.files) {
    struct stat info;
    if (stat(absl::StrCat(found_.directory, "/", name).c_str(), &info) != 0) continue;
    const std::int64_t modified = Microseconds(info.st_mtim);
    files.create_us = files.count == 0 ? modified : std::min(files.create_us, modified);
    files.update_us = std::max(files.update_us, modified);
    files.bytes += static_cast<std::uint64_t>(info.st_size);
    ++files.count;
  }
  files_ = files;
}

bool RunLoader::ReadAll(const OnPoint& on_point) {
  return std::all_of(open_.begin(), open_.end(),
                     [&](auto& file) { return ReadFile(*file, on_point); });
}

bool RunLoader::ReadFile(File& file, const OnPoint& on_point) {
  const std::string path = absl::StrCat(found_.directory, "/", file.name);
  if (file.reader == nullptr) {
    auto reader = eventlog::EventFileReader::Open(path);
    if (!reader.ok()) {
      // Gone again, or not ours to read: the next scan knows more.
      LOG_EVERY_N(WARNING, 100) << "Event file left out: " << reader.status();
      return true;
    }
    file.reader = *std::move(reader);
  }
  const std::uint64_t before = file.reader->records();
  const absl::Status status = file.reader->ReadNew([&](const eventlog::Event& event) {
    for (const eventlog::SummaryValue& value : event.values) Add(file, event, value, on_point);
  });
  if (file.reader->records() > before) Extend(stretches_, &file, file.reader->offset());
  records_ += file.reader->records() - before;
  if (absl::IsFailedPrecondition(status)) return false;
  if (!status.ok()) LOG(WARNING) << status;
  return true;
}

void RunLoader::Extend(std::vector<Stretch>& stretches, const File* file, std::uint64_t end) {
  if (stretches.empty() || stretches.back().file != file) stretches.push_back({file, end});
  stretches.back().end = end;
}

RunLoader::Tags::iterator RunLoader::FindOrAdd(const eventlog::SummaryValue& value) {
  const auto known = tags_.find(value.tag);
  if (known != tags_.end()) return known;
  // The first metadata of a tag counts; none at all means a scalar.
  Tag fresh{.plugin = std::string(value.plugin.empty() ? kScalars : value.plugin), .series = {}};
  const auto tag = tags_.emplace(std::string(value.tag), std::move(fresh)).first;
  tags_by_level_.try_emplace(absl::StrCat(bus::EncodeLevel(value.tag), "/"), tag);
  if (dropped_) tag->second.series.DropPoints();
  return tag;
}

void RunLoader::Add(const File& file, const eventlog::Event& event,
                    const eventlog::SummaryValue& value, const OnPoint& on_point) {
  if (!value.scalar.has_value() || value.shaped) return;
  if (value.tag.size() > kMaxTagBytes) {
    LOG_EVERY_N(WARNING, 1000) << "A tag with a name of " << value.tag.size()
                               << " bytes is left out of run " << found_.name;
    return;
  }
  const auto tag = FindOrAdd(value);
  const Point point{event.step, event.wall_time, *value.scalar};
  tag->second.series.Append(point);
  on_point(file, tag->first, tag->second, point);
}

RunLoader::NewPoints RunLoader::Load() {
  StatFiles();
  if (anew_) return ReadAnew({});
  NewPoints points;
  const bool read =
      ReadAll([&](const File&, const std::string& name, const Tag& tag, const Point& point) {
        Fresh& fresh = points[name];
        if (fresh.points.empty()) fresh.first = tag.series.summary().points - 1;
        fresh.points.push_back(point);
      });
  if (read) return points;
  LOG(INFO) << "Reading run " << found_.name << " anew: an event file was replaced or cut short";
  WantAnew(points);
  return ReadAnew({});
}

RunLoader::NewPoints RunLoader::Restore() {
  StatFiles();
  WantAnew({});
  return ReadAnew(std::move(stretches_));
}

RunLoader::NewPoints RunLoader::ReadAnew(std::vector<Stretch> stretches) {
  for (auto& file : open_) file->reader.reset();
  tags_by_level_.clear();
  tags_.clear();
  stretches_.clear();
  records_ = 0;
  dropped_ = false;
  Ranks ranks(stretches);
  const bool read = ReadAll([&](const File& file, const std::string& name, const Tag&,
                                const Point&) { ranks.Add(file, file.reader->offset(), name); });
  ranks.Apply(tags_);
  for (const Stretch& whole : std::exchange(stretches_, std::move(stretches))) {
    const auto last = std::find_if(stretches_.rbegin(), stretches_.rend(),
                                   [&](const Stretch& s) { return s.file == whole.file; });
    if (last == stretches_.rend() || last->end < whole.end) {
      Extend(stretches_, whole.file, whole.end);
    }
  }
  std::erase_if(stretches_, [](const Stretch& stretch) {
    return stretch.file->reader == nullptr || stretch.file->reader->records() == 0;
  });
  // If a file was replaced meanwhile: the next Load() begins once more.
  if (!read) return {};
  anew_ = false;
  NewPoints points = SinceKnown();
  known_.clear();
  return points;
}

RunLoader::NewPoints RunLoader::SinceKnown() const {
  NewPoints points;
  for (const auto& [name, tag] : tags_) {
    const auto all = tag.series.InFileOrder();
    const auto known = known_.find(name);
    std::uint64_t first = known == known_.end() ? 0 : known->second;
    if (first == all.size()) continue;
    if (first > all.size()) first = 0;
    points[name] = {first, {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()}};
  }
  return points;
}

void RunLoader::Drop() {
  for (auto& [name, tag] : tags_) tag.series.DropPoints();
  dropped_ = true;
}

std::uint64_t RunLoader::bad_records() const {
  std::uint64_t bad = 0;
  for (const auto& file : open_) bad += file->reader != nullptr ? file->reader->bad_records() : 0;
  return bad;
}

std::size_t RunLoader::Bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, tag] : tags_) bytes += tag.series.Bytes();
  return bytes;
}

}  // namespace datamanager
