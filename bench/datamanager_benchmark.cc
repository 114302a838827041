// Compares the data manager with TensorBoard's Rust data server, TensorBoard's reader in Python,
// MindInsight, and the highest speed at which event files can be read. Prints a table, or JSON with
// --json. A missed limit is displayed, not an error, because it depends on the machine; a wrong
// count is an error.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/datamanager_figures.h"
#include "bench/event_files.h"
#include "bench/limit_reader.h"
#include "bench/peer_comparison.h"
#include "bench/peers.h"
#include "bench/stamps.h"
#include "bench/together.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;
using Style = EventFilesOptions::Style;

// Sizes of the measurements in a full run; `scale` shrinks all of them.
struct Sizes {
  double scale = 1;
  int Of(int full) const { return std::max(static_cast<int>(full * scale), 2); }
  EventFilesOptions many_files() const { return {.runs = 20, .steps = Of(50'000), .tags = 5}; }
  EventFilesOptions new_style() const {
    return {.style = Style::kNew, .runs = 20, .steps = Of(50'000), .tags = 5};
  }
  EventFilesOptions one_file() const { return {.runs = 1, .steps = Of(1'000'000), .tags = 5}; }
  // Enough to keep the slow reader busy for a second or two.
  EventFilesOptions few() const { return {.runs = 1, .steps = Of(4'000), .tags = 5}; }
  EventFilesOptions mindspore() const {
    return {.style = Style::kMindSpore, .runs = 1, .steps = Of(20'000), .tags = 5};
  }
  EventFilesOptions spike() const {
    const int steps = Of(1'000'000);
    return {.runs = 1, .steps = steps, .tags = 1, .spike = steps / 3 * 2};
  }
  int listed() const { return Of(10'000); }
  int followed() const { return Of(1'000); }
  int appends() const { return Of(500); }
  int plots() const { return Of(200); }
  absl::Duration idle() const { return absl::Seconds(20) * scale; }
};

double Ms(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

// Returns the records per second of the limit reader on this thread.
absl::StatusOr<double> ReadAllAtLimit(EventFolder& folder) {
  const auto path = folder.Path();
  if (!path.ok()) return path.status();
  std::uint64_t records = 0;
  const absl::Duration begin = MonotonicNow();
  for (int run = 0; run < folder.options().runs; ++run) {
    const auto reading =
        ReadAtLimit(absl::StrCat(*path, "/", EventFilePath(run, folder.options().style)));
    if (absl::IsUnimplemented(reading.status())) {
      return absl::NotFoundError(reading.status().message());
    }
    if (!reading.ok()) return reading.status();
    records += reading->records;
  }
  const absl::Duration took = MonotonicNow() - begin;
  if (records == folder.written().records)
    return static_cast<double>(records) / absl::ToDoubleSeconds(took);
  return absl::InternalError(
      absl::StrCat("the limit reader has read ", records, " of ", folder.written().records));
}

// Returns the records per second of a reader in reader_figures.py.
absl::StatusOr<double> ReadWithPeer(const std::string& environment, const std::string& reader,
                                    EventFolder& folder, const std::string& place = "") {
  const auto python = FindPeer(environment, "bin/python");
  if (!python.ok()) return python.status();
  const auto path = folder.Path();
  if (!path.ok()) return path.status();
  const auto figures = RunPeerScript(*python, "reader_figures.py", {reader, *path + place});
  if (!figures.ok()) return figures.status();
  if (figures->at("points").is_null() ||
      figures->at("points").get<std::uint64_t>() == folder.written().points) {
    return static_cast<double>(folder.written().records) / figures->at("seconds").get<double>();
  }
  return absl::InternalError(absl::StrCat(environment, " has read ", figures->at("points").dump(),
                                          " of ", folder.written().points, " points"));
}

std::shared_ptr<Together<LoadFigures>> Loads(const std::shared_ptr<EventFolder>& folder,
                                             int threads) {
  return Together<LoadFigures>::Of([=] { return MeasureLoad(*folder, threads); });
}

double Rate(const LoadFigures& figures) { return figures.records_per_second; }

void AddReading(PeerComparison& comparison, const Sizes& sizes) {
  const auto folder = std::make_shared<EventFolder>(sizes.many_files());
  const auto one = Loads(folder, 1), two = Loads(folder, 2), all = Loads(folder, 0);
  Add<LoadFigures>(comparison, "one thread", one, Rate);
  Add<LoadFigures>(comparison, "two threads", two, Rate);
  comparison.Add("limit reader", [=] { return ReadAllAtLimit(*folder); });
  Add<LoadFigures>(comparison, "a new process", all, [folder](const LoadFigures& f) {
    return static_cast<double>(folder->written().records) / absl::ToDoubleSeconds(f.since_exec);
  });
  comparison.Add("Rust data server",
                 [=] { return ReadWithPeer("tensorboard", "server", *folder); });
  Add<LoadFigures>(comparison, "memory", one, [](const auto& f) { return f.grown_megabytes; });
  const EventFilesOptions& files = folder->options();
  const std::string points = absl::StrCat(files.runs * files.steps * files.tags, " points");
  comparison.Compare(absl::StrCat(points, " in ", files.runs, " files, one thread"), "records/s",
                     "one thread", "limit reader", {Kind::kRatioAtLeast, 0.6});
  comparison.Compare("the same, two threads", "records/s", "two threads", "one thread",
                     {Kind::kRatioAtLeast, 1.7});
  comparison.Compare("the same, from the exec of a new process", "records/s", "a new process",
                     "Rust data server", {Kind::kRatioAtLeast, 5});
  comparison.Compare("memory that they take", "MB", "memory", "", {Kind::kValueAtMost, 80});
}

// The same points in the format of TensorFlow 2.
void AddNewStyle(PeerComparison& comparison, const Sizes& sizes) {
  const auto folder = std::make_shared<EventFolder>(sizes.new_style());
  const auto one = Loads(folder, 1), all = Loads(folder, 0);
  Add<LoadFigures>(comparison, "new style: one thread", one, Rate);
  comparison.Add("new style: limit reader", [=] { return ReadAllAtLimit(*folder); });
  Add<LoadFigures>(comparison, "new style: all threads", all, Rate);
  comparison.Add("new style: Rust data server",
                 [=] { return ReadWithPeer("tensorboard", "server", *folder); });
  comparison.Compare("the same points in tensors with metadata, one thread", "records/s",
                     "new style: one thread", "new style: limit reader",
                     {Kind::kRatioAtLeast, 0.6});
  comparison.Compare("the same, a thread a core", "records/s", "new style: all threads",
                     "new style: Rust data server", {Kind::kRatioAtLeast, 5});
}

void AddOneFile(PeerComparison& comparison, const Sizes& sizes) {
  const auto folder = std::make_shared<EventFolder>(sizes.one_file());
  const auto one = Loads(folder, 1), two = Loads(folder, 2);
  Add<LoadFigures>(comparison, "one file: two threads", two, Rate);
  Add<LoadFigures>(comparison, "one file: one thread", one, Rate);
  comparison.Compare("one large file, two threads", "records/s", "one file: two threads",
                     "one file: one thread", {Kind::kRatioAtLeast, 1.7});
}

void AddPython(PeerComparison& comparison, const Sizes& sizes) {
  const auto folder = std::make_shared<EventFolder>(sizes.few());
  Add<LoadFigures>(comparison, "few records", Loads(folder, 0), Rate);
  comparison.Add("TensorBoard in Python",
                 [=] { return ReadWithPeer("tensorboard", "tensorboard", *folder); });
  comparison.Compare(absl::StrCat(sizes.few().steps * sizes.few().tags, " points"), "records/s",
                     "few records", "TensorBoard in Python", {Kind::kRatioAtLeast, 40});
}

void AddMindSpore(PeerComparison& comparison, const Sizes& sizes) {
  const auto folder = std::make_shared<EventFolder>(sizes.mindspore());
  const auto loads = Loads(folder, 0);
  Add<LoadFigures>(comparison, "MindSpore: time", loads,
                   [](const auto& f) { return Ms(f.since_scan); });
  Add<LoadFigures>(comparison, "MindSpore: rate", loads, Rate);
  comparison.Add("MindInsight",
                 [=] { return ReadWithPeer("mindinsight", "mindinsight", *folder, "/run_000"); });
  comparison.Compare(absl::StrCat(sizes.mindspore().steps + 1, " events of MindSpore"), "ms",
                     "MindSpore: time", "", {Kind::kValueAtMost, 20});
  comparison.Compare("the same", "events/s", "MindSpore: rate", "MindInsight",
                     {Kind::kRatioAtLeast, 500});
}

void AddListing(PeerComparison& comparison, const Sizes& sizes) {
  const int runs = sizes.listed();
  const auto listing = Together<ListFigures>::Of([=] { return MeasureListing(runs); });
  Add<ListFigures>(comparison, "runs: listed", listing, [](const auto& f) { return Ms(f.listed); });
  Add<ListFigures>(comparison, "runs: unchanged", listing,
                   [](const auto& f) { return Ms(f.unchanged); });
  comparison.Compare(absl::StrCat(runs, " runs listed by a new process"), "ms", "runs: listed", "",
                     {Kind::kValueAtMost, 1'000});
  comparison.Compare("a look at them when nothing has changed", "ms", "runs: unchanged", "",
                     {Kind::kValueAtMost, 50});
}

void AddAnswers(PeerComparison& comparison, const Sizes& sizes) {
  const auto backlog = std::make_shared<EventFolder>(sizes.many_files());
  const auto asked = Together<AskedFigures>::Of([=] { return MeasureAsked(*backlog); });
  Add<AskedFigures>(comparison, "asked: answer", asked,
                    [](const auto& f) { return Ms(f.answered); });
  Add<AskedFigures>(comparison, "asked: read before", asked,
                    [](const auto& f) { return 100 * f.read_before; });
  comparison.Compare("a run that is asked for while all are read", "ms", "asked: answer", "",
                     {Kind::kValueAtMost, 200});
  comparison.Compare("of all bytes, read before that", "%", "asked: read before", "", {});
  const auto spike = std::make_shared<EventFolder>(sizes.spike());
  comparison.Add("plot", [=]() -> absl::StatusOr<double> {
    const auto took = MeasurePlot(*spike, sizes.plots());
    if (!took.ok()) return took.status();
    return Ms(*took);
  });
  comparison.Compare(
      absl::StrCat("1,000 columns of ", sizes.spike().steps, " points, with the spike"), "ms",
      "plot", "", {Kind::kValueAtMost, 1});
}

void AddFollowing(PeerComparison& comparison, const Sizes& sizes) {
  const auto following = Together<FollowFigures>::Of(
      [=] { return MeasureFollowing(sizes.followed(), sizes.appends(), sizes.idle()); });
  Add<FollowFigures>(comparison, "following: p50", following,
                     [](const auto& f) { return Ms(f.p50); });
  Add<FollowFigures>(comparison, "following: p99", following,
                     [](const auto& f) { return Ms(f.p99); });
  Add<FollowFigures>(comparison, "following: idle", following,
                     [](const auto& f) { return f.idle_percent; });
  const std::string of = absl::StrCat(" of ", sizes.followed(), " runs");
  comparison.Compare(absl::StrCat("a point of one", of, " is announced, p50"), "ms",
                     "following: p50", "", {Kind::kValueAtMost, 20});
  comparison.Compare("the same, p99", "ms", "following: p99", "", {Kind::kValueAtMost, 100});
  comparison.Compare(absl::StrCat("none", of, " changes"), "% of a core", "following: idle", "",
                     {Kind::kValueAtMost, 0.5});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("datamanager_benchmark",
                           "Measures the data manager beside the readers of other projects.");
  bench::Sizes sizes;
  app.options()
      .add_option("--scale", sizes.scale, "Share of all numbers of runs, records and answers")
      ->check(CLI::PositiveNumber);
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    bench::AddReading(comparison, sizes);
    bench::AddNewStyle(comparison, sizes);
    bench::AddOneFile(comparison, sizes);
    bench::AddPython(comparison, sizes);
    bench::AddMindSpore(comparison, sizes);
    bench::AddListing(comparison, sizes);
    bench::AddAnswers(comparison, sizes);
    bench::AddFollowing(comparison, sizes);
    return absl::OkStatus();
  });
}
