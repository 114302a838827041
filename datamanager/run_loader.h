#ifndef DATAMANAGER_RUN_LOADER_H_
#define DATAMANAGER_RUN_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
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
// cut short makes the run be read anew. Tags with names of over 64 KiB are left out.
//
// The points of a tag have an order, in which Load() returned them, and are counted from its
// beginning. It stays as it is when dropped points are restored, though several files may have
// grown in turns.
class RunLoader {
 public:
  struct Tag {
    std::string plugin;  // Of the first metadata seen; "scalars" when inferred.
    ScalarSeries series;
  };
  using Tags = std::map<std::string, Tag, std::less<>>;
  struct Fresh {
    std::uint64_t first = 0;  // So many points of the tag came before.
    std::vector<Point> points;
  };
  using NewPoints = std::map<std::string, Fresh>;
  static constexpr std::size_t kMaxTagBytes = 64 << 10;

  explicit RunLoader(FoundRun found);
  ~RunLoader();
  RunLoader(RunLoader&&) = delete;

  // The run's files may have become more or fewer.
  void SetFiles(std::vector<std::string> files);
  // Reads what is new and returns it by tag, in file order. If the run is read anew, as many
  // points of a tag as had been returned are not returned again; of a tag that has fewer now, all
  // are.
  NewPoints Load();
  // Gives back the memory of all points. What is known of the series without them stays and goes
  // on being counted.
  void Drop();
  bool dropped() const { return dropped_; }
  // Reads everything from the start, points and all, and returns what is new as Load() does.
  NewPoints Restore();

  const FoundRun& found() const { return found_; }
  const RunFiles& files() const { return files_; }
  Tags& tags() { return tags_; }
  // The same by the last level of the tag's topic, "loss/", in the order of topics. (Of two tags
  // with the same level, which is possible for long names only, the one that was seen first.)
  const std::map<std::string, Tags::iterator, std::less<>>& tags_by_level() const {
    return tags_by_level_;
  }
  std::uint64_t records() const { return records_; }
  std::uint64_t bad_records() const;
  std::size_t Bytes() const;

 private:
  struct File;
  // Records of one file that were read before those of another.
  struct Stretch {
    const File* file;
    std::uint64_t end;  // Offset behind them.
  };
  class Ranks;
  // Gets each point after it was appended to the tag's series.
  using OnPoint = std::function<void(const File& file, const std::string& tag, const Tag& series,
                                     const Point& point)>;

  void StatFiles();
  // False if a file was replaced or cut short.
  bool ReadFile(File& file, const OnPoint& on_point);
  bool ReadAll(const OnPoint& on_point);
  void Add(const File& file, const eventlog::Event& event, const eventlog::SummaryValue& value,
           const OnPoint& on_point);
  Tags::iterator FindOrAdd(const eventlog::SummaryValue& value);
  static void Extend(std::vector<Stretch>& stretches, const File* file, std::uint64_t end);
  // The next Load() reads anew. `unreturned`: what has been read but not returned.
  void WantAnew(const NewPoints& unreturned);
  // Forgets everything that was read, and reads it in the order of `stretches`.
  NewPoints ReadAnew(std::vector<Stretch> stretches);
  NewPoints SinceKnown() const;

  FoundRun found_;
  RunFiles files_;
  std::vector<std::unique_ptr<File>> open_;
  Tags tags_;
  std::map<std::string, Tags::iterator, std::less<>> tags_by_level_;
  // In which order it was all read. An entry for each time that another file went on.
  std::vector<Stretch> stretches_;
  // The run has to be read anew, and so many points of each tag have been returned before.
  bool anew_ = false;
  std::map<std::string, std::uint64_t> known_;
  std::uint64_t records_ = 0;
  bool dropped_ = false;
};

}  // namespace datamanager

#endif  // DATAMANAGER_RUN_LOADER_H_
