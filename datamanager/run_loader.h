#ifndef DATAMANAGER_RUN_LOADER_H_
#define DATAMANAGER_RUN_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "datamanager/run_finder.h"
#include "datamanager/scalar_series.h"
#include "eventlog/event.h"

namespace datamanager {

// The event files of a run together.
struct RunFiles {
  std::int64_t create_us = 0;  // Oldest and newest modification, microseconds since 1970.
  std::int64_t update_us = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
};

// Reads the event files of one run, each from where the last read ended, into series. Not thread
// safe.
//
// Files are read in the order of their names, as TensorBoard does. A record that cannot be read
// costs one record; a file whose framing is broken is read no further. A file that was replaced or
// cut short makes the run be read anew.
class RunLoader {
 public:
  struct Tag {
    std::string plugin;  // Of the first metadata seen; "scalars" when inferred.
    ScalarSeries series;
  };
  using NewPoints = std::map<std::string, std::vector<Point>>;

  explicit RunLoader(FoundRun found);
  ~RunLoader();
  RunLoader(RunLoader&&) = delete;

  // The run's files may have become more or fewer.
  void SetFiles(std::vector<std::string> files);
  // Reads what is new and returns it by tag, in file order.
  NewPoints Load();
  // Gives back the memory of all points. What is known of the series without them stays and goes
  // on being counted.
  void Drop();
  bool dropped() const { return dropped_; }
  // Reads everything from the start, points and all.
  void Restore();

  const FoundRun& found() const { return found_; }
  const RunFiles& files() const { return files_; }
  std::map<std::string, Tag, std::less<>>& tags() { return tags_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t bad_records() const;
  std::size_t Bytes() const;

 private:
  struct File;
  void StatFiles();
  // False if a file was replaced or cut short.
  bool ReadFile(File& file, NewPoints* points);
  void Add(const eventlog::Event& event, const eventlog::SummaryValue& value, NewPoints* points);
  // Forgets everything that was read.
  void Restart();

  FoundRun found_;
  RunFiles files_;
  std::vector<std::unique_ptr<File>> open_;
  std::map<std::string, Tag, std::less<>> tags_;
  std::uint64_t records_ = 0;
  bool dropped_ = false;
};

}  // namespace datamanager

#endif  // DATAMANAGER_RUN_LOADER_H_
