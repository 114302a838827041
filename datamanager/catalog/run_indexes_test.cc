#include "datamanager/catalog/run_indexes.h"

// Each test runs several sessions of a data manager over the same runs, and checks what the later
// sessions read again, and that they know the same as a session that read everything.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/index/index_file.h"
#include "datamanager/index/index_store.h"
#include "datamanager/read/run_data.h"
#include "datamanager/read/run_files_reader.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "datamanager/series/value_series.h"
#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

namespace fs = std::filesystem;
namespace pb = eventlog::testing;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr int kSteps = 5000;
constexpr std::string_view kFile = "events.out.tfevents.1.x";
constexpr std::string_view kSecond = "events.out.tfevents.2.x";

// Returns a record of an event whose field `field` holds `content`.
std::string Event(int step, int field, std::string_view content) {
  std::string record;
  eventlog::AppendRecord(pb::Double(1, 1000 + step) +
                             pb::Number(2, static_cast<std::uint64_t>(step)) +
                             pb::Bytes(field, content),
                         &record);
  return record;
}
// Two points per step and, occasionally, a tensor.
std::string Steps(int first, int end, double scale = 1) {
  std::string bytes;
  for (int step = first; step < end; ++step) {
    const eventlog::Scalar scalars[] = {{"loss", scale * std::sin(step)}, {"accuracy", 0.5}};
    bytes += eventlog::RenderScalars(1000.0 + step, step, scalars);
    if (step % 100 != 0) continue;
    const std::string tensor =
        pb::Number(1, 1) + pb::Bytes(2, pb::Bytes(2, pb::Number(1, 1))) + pb::Bytes(5, "abcd");
    bytes += Event(step, 5, pb::Bytes(1, pb::Bytes(1, "weights") + pb::Bytes(8, tensor)));
  }
  return bytes;
}
// A run that was resumed from a checkpoint, with a damaged record and an incomplete one.
std::string Content() {
  std::string damaged = Steps(0, 1);
  damaged[20] ^= 1;
  return Event(0, 3, "brain.Event:2") + Steps(0, kSteps) + damaged +
         Event(kSteps / 2, 7, pb::Number(1, 1)) + Steps(kSteps / 2, kSteps + 10) +
         Steps(0, 1).substr(0, 10);
}

void Describe(const ScalarSummary& summary, std::string* text) {
  absl::StrAppend(text, " ", summary.points, " points, steps ", summary.first_step, "..",
                  summary.last_step, ", times ", summary.first_time, "..", summary.last_time, ", ",
                  summary.min, "..", summary.max, " to ", summary.last);
}

void DescribeTag(RunData& data, RunData::TagId id, std::string* text) {
  const RunData::Tag& tag = data.tag(id);
  absl::StrAppend(text, "\n", std::string(data.tag_name(id)), " ", std::string(tag.plugin()));
  Describe(tag.summary, text);
  for (const Overlap policy : {Overlap::kRaw, Overlap::kLastWrite, Overlap::kTensorBoard,
                               Overlap::kTensorBoardV1, Overlap::kRustServer}) {
    std::vector<Point> points;
    const ScalarColumns& kept = data.ByStep(id, policy);
    kept.Read(0, kept.size(), &points);
    double sum = 0;
    for (const Point& point : points) sum = sum * 1.0001 + point.value + point.wall_time;
    absl::StrAppend(text, " ", points.size(), ":", sum);
    if (tag.values == nullptr) continue;
    absl::StrAppend(text, "/",
                    tag.values->places.Select(data.ValueMarks(id), policy, 0, 1 << 30).size());
  }
  if (tag.values == nullptr) return;
  Describe(tag.values->summary, text);
  for (const ValuePlace& place : tag.values->places.all()) {
    absl::StrAppend(text, " ", place.offset, "+", place.length, ":", place.crc);
  }
}

// Returns everything known about a run except for its generation.
std::string Describe(RunData& data) {
  std::string text = absl::StrCat("from ", data.start_time(), " to step ",
                                  data.last_step().value_or(-1), ", ", data.points(), " points");
  for (const RunFileData& file : data.files()) {
    if (file.gone) continue;
    absl::StrAppend(&text, "\n", file.listed.name, " ", file.position.record.offset, " ",
                    file.records, " ", file.points, " ", file.version);
    for (const eventlog::Fault& fault : file.faults.all()) {
      if (fault.kind >= eventlog::FaultKind::kShrunk) continue;  // Not known to earlier sessions.
      absl::StrAppend(&text, " ", std::string(eventlog::FaultName(fault.kind)), " ", fault.count,
                      " ", fault.bytes, " at ", fault.first_offset);
    }
  }
  for (const RunData::TagId id : data.TagsByName()) DescribeTag(data, id, &text);
  return text;
}

class RunIndexesTest : public testing::Test {
 protected:
  RunIndexesTest() {
    char name[] = "/tmp/inds-XXXXXX";
    root_ = mkdtemp(name);
    Write(PathOf("exp"), Content());
  }
  ~RunIndexesTest() override { fs::remove_all(root_); }

  std::string PathOf(const std::string& run, std::string_view file = kFile) const {
    return absl::StrCat(root_, "/logs/", run, "/", std::string(file));
  }
  std::string IndexOf(const std::string& run) const {
    return absl::StrCat(root_, "/index/", IndexFileName(root_ + "/logs/" + run));
  }
  static void Write(const fs::path& path, const std::string& bytes,
                    std::ios::openmode mode = std::ios::trunc) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | mode) << bytes;
  }
  static std::string ReadAll(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Changes the byte at that fraction of the file.
  static void Flip(const std::string& path, double place) {
    const auto at = static_cast<std::streamoff>(place * (fs::file_size(path) - 1.0));
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const char changed = static_cast<char>(file.get() ^ 4);
    file.seekp(at);
    file.put(changed);
  }
  // Waits until the next change of the file will have a different time stamp.
  static void AwaitNextTick(const std::string& path) {
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    timespec now = info.st_ctim;
    while (now.tv_sec == info.st_ctim.tv_sec && now.tv_nsec == info.st_ctim.tv_nsec) {
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    }
  }
  std::uint64_t LogBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_ + "/logs")) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  struct Session {
    std::string known;  // Everything known about the run "exp".
    RunCatalog::Stats stats;
    RunIndexes::Stats indexes;
    std::uint64_t generation = 0;
  };
  struct Options {
    bool indexed = true;
    bool writes = true;
    std::uint64_t cache = std::uint64_t{1} << 30;
    RunSource::Need need = RunSource::Need::kPoints;
    std::uint64_t step_bytes = 1 << 16;
  };
  // Starts, loads all runs, writes the pending indexes, and ends.
  Session Serve(const Options& options) {
    auto store = IndexStore::Open({.directory = root_ + "/index", .byte_budget = 1 << 30});
    EXPECT_TRUE(store.ok()) << store.status();
    RunIndexes indexes(*std::move(store));
    RunTree::Options tree_options;
    tree_options.root = root_ + "/logs";
    RunTree tree(tree_options);
    RunCatalog::Options catalog_options;
    catalog_options.root = tree_options.root;
    catalog_options.byte_budget = options.cache;
    catalog_options.step_bytes = options.step_bytes;
    if (options.indexed) catalog_options.indexes = &indexes;
    const auto catalog = *RunCatalog::Create(catalog_options);
    catalog->ScanBegan();
    const RunTree::Delta delta = tree.Rescan();
    catalog->Found(delta, tree.runs());
    EXPECT_TRUE(catalog->AwaitLoaded(kLong));
    Session session;
    RunSource::Request request;
    request.run = "exp";
    request.need = options.need;
    const absl::Status status = catalog->ReadWithin(kLong, request, [&](const auto& view) {
      session.known = Describe(view.data);
      session.generation = view.data.generation();
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    session.stats = catalog->GetStats();
    if (options.writes) catalog->WriteIndexes(RunIndexes::Which::kDue, kLong);
    session.indexes = indexes.GetStats();
    return session;
  }
  Session Serve() { return Serve(Options()); }
  // Returns what a session without indexes knows.
  std::string Truth() {
    Options options;
    options.indexed = false;
    return Serve(options).known;
  }

  std::string root_;
};

enum class Again { kLittle, kAll };

struct Row {
  std::string name;
  // Applied to the run's event file and index between two sessions.
  std::function<void(const std::string& file, const std::string& index)> change;
  Again again = Again::kAll;
  std::uint64_t refused = 1;
};

void KeepingTime(const std::string& file, const std::function<void()>& change) {
  const auto time = fs::last_write_time(file);
  change();
  fs::last_write_time(file, time);
}

class RunIndexesRowTest : public RunIndexesTest, public testing::WithParamInterface<int> {
 public:
  static std::vector<Row> Rows() {
    constexpr auto kAppend = std::ios::app;
    const auto flip = [](double place) {
      return [place](const std::string& file, auto&) {
        KeepingTime(file, [&] { Flip(file, place); });
      };
    };
    const auto damage = [](double place) {
      return [place](auto&, const std::string& index) { Flip(index, place); };
    };
    const auto cut = [](double part) {
      return [part](auto&, const std::string& index) {
        fs::resize_file(index, static_cast<std::uintmax_t>(part * fs::file_size(index)));
      };
    };
    return {
        {"NothingHasChanged", [](auto&, auto&) {}, Again::kLittle, 0},
        {"Grown",
         [](const std::string& file, auto&) {
           fs::resize_file(file, fs::file_size(file) - 10);  // Completes the incomplete record.
           Write(file, Steps(kSteps + 10, kSteps + 20), kAppend);
         },
         Again::kLittle, 0},
        {"AnotherFile",
         [](const std::string& file, auto&) {
           Write(fs::path(file).parent_path() / kSecond, Steps(kSteps + 10, kSteps + 20));
         },
         Again::kLittle, 0},
        {"CopiedWithItsTime",
         [](const std::string& file, auto&) {
           const std::string copy = file + ".copy";
           fs::copy_file(file, copy);
           fs::last_write_time(copy, fs::last_write_time(file));
           fs::rename(copy, file);
         },
         Again::kLittle, 0},
        {"Shrunk", [](const std::string& file, auto&) { fs::resize_file(file, 300'000); }},
        {"Replaced",
         [](const std::string& file, auto&) {
           Write(file + ".new", Steps(0, 2 * kSteps, 2));
           fs::rename(file + ".new", file);
         }},
        {"RewrittenAtItsEnd", flip(0.9999)},
        {"RewrittenAtItsBeginning", flip(0.00005)},
        {"RewrittenInTheMiddle", [](const std::string& file, auto&) { Flip(file, 0.5); }},
        {"RewrittenLonger",
         [](const std::string& file, auto&) { Write(file, Steps(0, 2 * kSteps, 2)); }},
        {"RenamedWithinTheRun",
         [](const std::string& file, auto&) {
           fs::rename(file, fs::path(file).parent_path() / kSecond);
         }},
        {"IndexIsGone", [](auto&, const std::string& index) { fs::remove(index); }, Again::kAll, 0},
        {"IndexIsEmpty", cut(0)},
        {"IndexIsCutShort", cut(0.7)},
        {"IndexIsLonger", [](auto&, const std::string& index) { Write(index, "x", kAppend); }},
        {"IndexHasAFlippedBitInItsHeader", damage(0)},
        {"IndexHasAFlippedBitInItsHead",
         [](auto&, const std::string& index) {
           Flip(index, 60.0 / static_cast<double>(fs::file_size(index)));
         }},
        {"IndexHasAFlippedBitInItsPoints", damage(0.5)},
        {"IndexHasAFlippedBitInItsLastValue", damage(1)},
        {"IndexIsOfAnotherVersion",
         [](auto&, const std::string& index) {
           std::string bytes = ReadAll(index);
           ++bytes[8];
           const std::uint32_t crc = eventlog::Crc32c(std::string_view(bytes).substr(0, 24));
           bytes.replace(24, 4, pb::LittleEndianBytes(crc));
           Write(index, bytes);
         }},
        {"IndexIsOfAnotherRun",
         [](auto&, const std::string& index) {
           IndexedRun other;
           other.directory = "/somewhere/else";
           Write(index, *IndexWriter(other).Finish());
         },
         Again::kAll, 0},
        {"IndexIsOfSomebodyElse",
         [](auto&, const std::string& index) {
           // Only root can change a file's owner.
           if (chown(index.c_str(), 4711, static_cast<gid_t>(-1)) != 0) Flip(index, 0);
         }},
    };
  }
};

TEST_P(RunIndexesRowTest, IsTakenOrReadAnew) {
  const Row row = Rows()[static_cast<std::size_t>(GetParam())];
  AwaitNextTick(PathOf("exp"));
  const Session first = Serve();
  EXPECT_EQ(first.indexes.written, 1u);
  EXPECT_GE(first.stats.event_bytes_read, LogBytes());
  row.change(PathOf("exp"), IndexOf("exp"));
  const std::string truth = Truth();

  const Session second = Serve();
  EXPECT_EQ(second.known, truth);
  EXPECT_EQ(second.indexes.refused, row.refused);
  EXPECT_EQ(second.indexes.rebuilt, row.refused);
  const std::uint64_t little = LogBytes() / 20;
  if (row.again == Again::kLittle) {
    EXPECT_EQ(second.indexes.used, 1u);
    EXPECT_LT(second.stats.event_bytes_read, little);
    EXPECT_GT(second.indexes.spared_bytes, LogBytes() - little);
    EXPECT_EQ(second.generation, first.generation);
  } else {
    EXPECT_EQ(second.indexes.used, 0u);
    EXPECT_EQ(second.indexes.spared_bytes, 0u);
    EXPECT_GE(second.stats.event_bytes_read, LogBytes());
    EXPECT_EQ(second.indexes.written, 1u);
  }

  const Session third = Serve();
  EXPECT_EQ(third.known, truth);
  EXPECT_EQ(third.indexes.used, 1u);
  EXPECT_EQ(third.indexes.refused, 0u);
  EXPECT_LT(third.stats.event_bytes_read, little);
}

INSTANTIATE_TEST_SUITE_P(
    All, RunIndexesRowTest, testing::Range(0, static_cast<int>(RunIndexesRowTest::Rows().size())),
    [](const testing::TestParamInfo<int>& row) {
      return RunIndexesRowTest::Rows()[static_cast<std::size_t>(row.param)].name;
    });

TEST_F(RunIndexesTest, ARunWithoutRoomIsCountedFromItsIndex) {
  const std::string truth = Truth();
  Options small;
  small.cache = 0;
  small.need = RunSource::Need::kCounts;
  Serve(small);
  const Session counted = Serve(small);
  EXPECT_EQ(counted.indexes.used, 1u);
  EXPECT_LT(counted.stats.event_bytes_read, LogBytes() / 20);
  EXPECT_EQ(counted.stats.counted, 1u);
  // With enough memory, the points are read again, and then indexed too.
  const Session cached = Serve();
  EXPECT_EQ(cached.known, truth);
  EXPECT_EQ(cached.indexes.used, 1u);
  EXPECT_EQ(cached.indexes.written, 1u);
  const Session again = Serve();
  EXPECT_EQ(again.known, truth);
  EXPECT_LT(again.stats.event_bytes_read, LogBytes() / 20);
  // A request for points that do not fit into memory reads them from the index.
  small.need = RunSource::Need::kPoints;
  const Session asked = Serve(small);
  EXPECT_EQ(asked.known, truth);
  EXPECT_GE(asked.indexes.used, 2u) << "for the counts, and each time for the points";
  EXPECT_LT(asked.stats.event_bytes_read, LogBytes() / 20);
  // If the index is damaged at those points, it reads them from the event files.
  Flip(IndexOf("exp"), 0.5);
  const Session damaged = Serve(small);
  EXPECT_EQ(damaged.known, truth);
  EXPECT_EQ(damaged.indexes.refused, 1u);
  EXPECT_GE(damaged.stats.event_bytes_read, LogBytes());
}

TEST_F(RunIndexesTest, AnIndexOfManyTagsIsTakenInSmallSteps) {
  constexpr int kTags = 3000;
  std::string bytes;
  for (int tag = 0; tag < kTags; ++tag) {
    const std::string name = absl::StrCat("tag/", tag);
    const eventlog::Scalar scalar{name, 1.0 * tag};
    bytes += eventlog::RenderScalars(1, 1, {&scalar, 1});
  }
  Write(PathOf("exp"), bytes);
  const std::string truth = Truth();
  Serve();
  const Session session = Serve();
  EXPECT_EQ(session.known, truth);
  EXPECT_EQ(session.indexes.used, 1u);
  EXPECT_GT(session.stats.loads.steps, 40u);
}

TEST_F(RunIndexesTest, ASecondWriteIsForARunThatHasGrownEnough) {
  Serve();
  Write(PathOf("exp"), Steps(kSteps + 10, kSteps + 20), std::ios::app);
  EXPECT_EQ(Serve().indexes.written, 0u);
  Write(PathOf("exp"), Steps(kSteps + 20, 5 * kSteps), std::ios::app);
  EXPECT_EQ(Serve().indexes.written, 1u);
  EXPECT_EQ(Serve().indexes.written, 0u);
}

TEST_F(RunIndexesTest, OneOfARunThatGrowsWhileItIsMadeIsNotWritten) {
  // The last of three tags of 3 MiB is added only after other work had its turn.
  const std::string content(std::size_t{3} << 20, 'x');
  std::string bytes;
  for (const char* tag : {"a", "b", "c"}) {
    const std::string metadata = pb::Bytes(1, pb::Bytes(1, "mesh") + pb::Bytes(2, content));
    bytes += Event(1, 5, pb::Bytes(1, pb::Bytes(1, tag) + pb::Bytes(9, metadata)));
  }
  Write(PathOf("exp"), bytes);
  RunTree::Options options;
  options.root = root_ + "/logs";
  RunTree tree(options);
  tree.Rescan();
  RunIndexes indexes(*IndexStore::Open({.directory = root_ + "/index", .byte_budget = 1 << 30}));
  RunFilesReader reader(tree.runs()[0], {});
  eventlog::ReadBuffer buffer;
  const auto read = [&] {
    for (bool more = true; more;) {
      const RunFilesReader::Step step = reader.ReadOn(&buffer, false);
      indexes.Stepped(reader, step);
      more = step.more;
    }
  };
  read();
  int turns = 0;
  const auto with_reader = [&](const std::string&, const auto& use) {
    if (++turns == 2) {
      Write(PathOf("exp"), Steps(0, 10), std::ios::app);
      reader.RecheckAll();
      read();
    }
    use(reader);
    return true;
  };
  const auto always = [] { return true; };
  indexes.Write(RunIndexes::Which::kDue, with_reader, always);
  EXPECT_EQ(turns, 2);
  EXPECT_EQ(indexes.GetStats().written, 0u);
  indexes.Write(RunIndexes::Which::kDue, with_reader, always);
  EXPECT_EQ(turns, 4);
  EXPECT_EQ(indexes.GetStats().written, 1u);
  const auto index = ReadIndex(IndexOf("exp"), root_ + "/logs/exp", IndexPart::kAll);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->run().files[0].position.record.offset, fs::file_size(PathOf("exp")));
}

TEST_F(RunIndexesTest, TheIndexOfARunThatIsGoneIsRemoved) {
  Write(PathOf("other"), Steps(0, 10));
  EXPECT_EQ(Serve().indexes.store.files, 2u);
  fs::remove_all(root_ + "/logs/other");
  EXPECT_EQ(Serve().indexes.store.files, 1u);
  EXPECT_TRUE(fs::exists(IndexOf("exp")));
  EXPECT_FALSE(fs::exists(IndexOf("other")));
}

// (A limit on file sizes stands in for a full disk: both fail in the same way.)
TEST_F(RunIndexesTest, AFullDiskCostsTheIndexAlone) {
  const std::string truth = Truth();
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Session first = Serve();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(first.indexes.failed, 1u);
  EXPECT_TRUE(fs::is_empty(root_ + "/index"));
  const Session second = Serve();
  EXPECT_EQ(second.known, truth);
  EXPECT_EQ(second.indexes.refused, 0u);
  EXPECT_EQ(second.indexes.written, 1u);
}

}  // namespace
}  // namespace datamanager
