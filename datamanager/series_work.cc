// Does a data manager's work on scalar series a given number of times, so that instructions, time
// and memory can be measured. The points resemble those of a training: one per step, wall times
// from a clock, noisy floats.
//
//   series_work make POINTS             only makes the points, as a baseline for the others
//   series_work append POINTS           appends to five tags in turn: marks, summary, columns
//   series_work query POINTS ANSWERS    answers of 1,000 columns over all points of one tag
//   series_work memory POINTS TAGS      memory for this many points in total
//
// Prints "NAME=VALUE" for each measured quantity.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"

namespace {

using datamanager::Column;
using datamanager::Point;
using datamanager::PurgeLog;

struct Tag {
  datamanager::ScalarSummary summary;
  datamanager::SeriesMarks marks;
  datamanager::ScalarColumns points;
};

Point At(std::uint64_t i) {
  const auto noise = static_cast<std::uint32_t>((i + 1) * 0x9E3779B97F4A7C15u >> 40);
  return {static_cast<std::int64_t>(i), 1700000000.0 + static_cast<double>(i) * 0.1,
          static_cast<float>(noise) / (1 << 24)};
}

void Add(PurgeLog& log, Tag& tag, const Point& point) {
  log.Summary(point.step);
  log.Note(tag.summary, point.step, 0, &tag.marks);
  tag.summary.Add(point);
  tag.points.Append(point);
}

std::uint64_t ResidentBytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void Print(const char* name, std::uint64_t value) {
  std::printf("%s=%llu\n", name, static_cast<unsigned long long>(value));
}

void Make(std::uint64_t points) {
  Point sum;
  for (std::uint64_t i = 0; i < points; ++i) {
    const Point point = At(i / 5);
    sum.step += point.step;
    sum.wall_time += point.wall_time;
    sum.value += point.value;
  }
  Print("points", sum.step > 0 && sum.wall_time > 0 && sum.value > 0 ? points : 0);
}

void Append(std::uint64_t points) {
  PurgeLog log;
  Tag tags[5];
  for (std::uint64_t i = 0; i < points; ++i) Add(log, tags[i % 5], At(i / 5));
  std::uint64_t kept = 0;
  for (const Tag& tag : tags) kept += tag.points.size();
  Print("points", kept);
}

void Query(std::uint64_t points, std::uint64_t answers) {
  PurgeLog log;
  Tag tag;
  for (std::uint64_t i = 0; i < points; ++i) Add(log, tag, At(i));
  std::uint64_t columns = 0, best_ns = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t i = 0; i < answers; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    // A different range each time, beginning within a block.
    const std::vector<Column> answer = tag.points.Columns(
        static_cast<std::int64_t>(i), std::numeric_limits<std::int64_t>::max(), 1000);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    best_ns = std::min(best_ns, static_cast<std::uint64_t>(took.count()));
    columns += answer.size();
  }
  Print("columns", columns);
  if (answers > 0) Print("best_ns", best_ns);
}

void Memory(std::uint64_t points, std::uint64_t number) {
  const std::uint64_t before = ResidentBytes();
  PurgeLog log;
  std::map<std::string, Tag> tags;
  std::vector<Tag*> in_turn;
  for (std::uint64_t i = 0; i < number; ++i) {
    in_turn.push_back(&tags["train/layer_" + std::to_string(i) + "/norm"]);
  }
  for (std::uint64_t i = 0; i < points; ++i) Add(log, *in_turn[i % number], At(i / number));
  const std::uint64_t after = ResidentBytes();
  std::uint64_t bytes = 0;
  for (const auto& [name, tag] : tags) bytes += tag.points.Bytes() + tag.marks.Bytes();
  Print("resident", after > before ? after - before : 0);
  Print("bytes", bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view work = argc > 2 ? argv[1] : "";
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const std::uint64_t second = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if (work == "make") {
    Make(first);
  } else if (work == "append") {
    Append(first);
  } else if (work == "query") {
    Query(first, second);
  } else if (work == "memory" && second > 0) {
    Memory(first, second);
  } else {
    std::fprintf(stderr,
                 "usage: series_work make POINTS | append POINTS | query POINTS ANSWERS | memory "
                 "POINTS TAGS\n");
    return 2;
  }
  return 0;
}
