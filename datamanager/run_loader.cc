#include "datamanager/run_loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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
  open_ = std::move(open);
  if (lost) Restart();
}

void RunLoader::Restart() {
  for (auto& file : open_) file->reader.reset();
  tags_.clear();
  records_ = 0;
  dropped_ = false;
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

bool RunLoader::ReadFile(File& file, NewPoints* points) {
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
    for (const eventlog::SummaryValue& value : event.values) Add(event, value, points);
  });
  records_ += file.reader->records() - before;
  if (absl::IsFailedPrecondition(status)) return false;
  if (!status.ok()) LOG(WARNING) << status;
  return true;
}

void RunLoader::Add(const eventlog::Event& event, const eventlog::SummaryValue& value,
                    NewPoints* points) {
  if (!value.scalar.has_value()) return;
  auto tag = tags_.find(value.tag);
  if (tag == tags_.end()) {
    // The first metadata of a tag counts; none at all means a scalar.
    Tag fresh{.plugin = std::string(value.plugin.empty() ? kScalars : value.plugin), .series = {}};
    tag = tags_.emplace(std::string(value.tag), std::move(fresh)).first;
    if (dropped_) tag->second.series.DropPoints();
  }
  const Point point{event.step, event.wall_time, *value.scalar};
  tag->second.series.Append(point);
  if (points != nullptr) (*points)[tag->first].push_back(point);
}

RunLoader::NewPoints RunLoader::Load() {
  StatFiles();
  NewPoints points;
  const auto read_all = [&] {
    return std::all_of(open_.begin(), open_.end(),
                       [&](auto& file) { return ReadFile(*file, &points); });
  };
  if (read_all()) return points;
  LOG(INFO) << "Reading run " << found_.name << " anew: an event file was replaced or cut short";
  Restart();
  points.clear();
  (void)read_all();
  return points;
}

void RunLoader::Drop() {
  for (auto& [name, tag] : tags_) tag.series.DropPoints();
  dropped_ = true;
}

void RunLoader::Restore() {
  Restart();
  (void)Load();
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
