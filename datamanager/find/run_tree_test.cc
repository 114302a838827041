#include "datamanager/find/run_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/name_pattern.h"
#include "datamanager/find/profiler_directory.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Scope = RunTree::Scope;

constexpr std::string_view kEvents = "events.out.tfevents.1700000000.host";
constexpr std::int64_t kNamed = 1'700'000'000'000'000;

// The real file system, with counts, and with failures and times that a test sets.
class TestSource : public DirectorySource {
 public:
  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    auto state = DirectorySource::Real()->Stat(path);
    runtime::MutexLock lock(mutex_);
    ++looks_[path];
    if (const auto failure = failures_.find(path); failure != failures_.end()) {
      return failure->second;
    }
    if (const auto born = born_.find(path); state.ok() && born != born_.end()) {
      state->identity.born_ns = born->second;
    }
    return state;
  }
  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    {
      runtime::MutexLock lock(mutex_);
      ++lists_[path];
      if (const auto failure = list_failures_.find(path); failure != list_failures_.end()) {
        on_entry(kEvents, Entry::kRegular);  // A part was listed before the failure.
        return failure->second;
      }
    }
    return DirectorySource::Real()->List(path, on_entry);
  }

  void Forget() {
    runtime::MutexLock lock(mutex_);
    looks_.clear();
    lists_.clear();
  }
  std::map<std::string, int> looks() {
    runtime::MutexLock lock(mutex_);
    return looks_;
  }
  std::map<std::string, int> lists() {
    runtime::MutexLock lock(mutex_);
    return lists_;
  }
  void FailStat(const std::string& path, const absl::Status& status) {
    runtime::MutexLock lock(mutex_);
    failures_[path] = status;
  }
  void FailList(const std::string& path, const absl::Status& status) {
    runtime::MutexLock lock(mutex_);
    list_failures_[path] = status;
  }
  void Heal() {
    runtime::MutexLock lock(mutex_);
    failures_.clear();
    list_failures_.clear();
  }
  void SetBorn(const std::string& path, std::int64_t born_ns) {
    runtime::MutexLock lock(mutex_);
    born_[path] = born_ns;
  }

 private:
  runtime::Mutex mutex_;
  std::map<std::string, int> looks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> lists_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> list_failures_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> born_ ABSL_GUARDED_BY(mutex_);
};

std::vector<std::string> Names(std::span<const ListedRunPtr> runs) {
  std::vector<std::string> names;
  for (const ListedRunPtr& run : runs) names.push_back(run->name);
  return names;
}

bool IsNothing(const RunTree::Delta& delta) {
  return delta.added.empty() && delta.recreated.empty() && delta.changed.empty() &&
         delta.removed.empty() && !delta.directories;
}

class RunTreeTest : public testing::Test {
 protected:
  RunTreeTest() {
    char name[] = "/tmp/tree-XXXXXX";
    base_ = mkdtemp(name);
    root_ = base_ + "/logs";
    std::filesystem::create_directory(root_);
  }
  ~RunTreeTest() override { std::filesystem::remove_all(base_); }

  std::string Path(std::string_view path) const {
    return path.empty() ? root_ : absl::StrCat(root_, "/", std::string(path));
  }
  void Write(std::string_view path, const std::string& content = "") const {
    const std::filesystem::path full = Path(path);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::app) << content;
  }
  std::string AddRun(const std::string& path, const std::string& content = "") const {
    Write(absl::StrCat(path, "/", std::string(kEvents)), content);
    return absl::StrCat(path, "/", std::string(kEvents));
  }
  void Link(const std::string& target, std::string_view path) const {
    std::filesystem::create_symlink(target, Path(path));
  }
  void Remove(std::string_view path) const { std::filesystem::remove_all(Path(path)); }
  // Replaces the directory by another of the same name, with a different inode.
  void MakeAgain(std::string_view path) const {
    const std::string old = base_ + "/old";
    std::filesystem::rename(Path(path), old);
    std::filesystem::create_directory(Path(path));
    std::filesystem::remove_all(old);
  }
  static void SetModified(const std::string& full_path, std::int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, full_path.c_str(), times, 0), 0) << full_path;
  }
  // Sets old times, so that each later change of a directory changes its time, however coarse the
  // clock.
  void Age() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base_)) {
      if (!entry.is_symlink() && entry.is_directory()) SetModified(entry.path(), 1'600'000'000);
    }
  }

  RunTree::Options Options(int threads = 1) {
    RunTree::Options options;
    options.root = root_;
    options.threads = threads;
    options.clock = &clock_;
    options.source = &source_;
    return options;
  }
  static NamePattern Pattern(std::string_view text) { return NamePattern::Compile(text).value(); }

  std::string base_;
  std::string root_;
  TestSource source_;
  // Late enough after the test's changes that directories count as settled.
  runtime::FakeClock clock_{absl::Now() + absl::Hours(1)};
};

TEST_F(RunTreeTest, ARunIsADirectoryAtAnyDepthWithAFileThatMakesItOne) {
  AddRun("b");
  AddRun("a/deep/er");
  Write(kEvents);
  Write("marker/events.out.tfevents.1.h.profile-empty");
  Write("mindspore/events.out.events.summary.1596869898.0.host_MS");
  Write("lineage/events.out.events.summary.1596869898.0.host_MS_lineage");
  Write("graph/ms_output_optimize.pb");
  Write("explainer/events.out.events.summary.1596869898.0.host_MS_explain");
  Write("none/result.json");
  Write("named/events.out.tfevents.directory/file");
  AddRun(".trash/removed");
  AddRun("b/.trash/removed");
  RunTree tree(Options());
  const RunTree::Delta delta = tree.Rescan();
  EXPECT_THAT(Names(tree.runs()),
              ElementsAre(".", "a/deep/er", "b", "graph", "lineage", "marker", "mindspore"));
  EXPECT_THAT(delta.added, SizeIs(7));
  EXPECT_TRUE(delta.directories);
  EXPECT_THAT(tree.directories(), SizeIs(13));
  EXPECT_THAT(tree.unreadable().reasons, IsEmpty());
  EXPECT_EQ(tree.runs()[0]->directory, root_);
  EXPECT_EQ(tree.runs()[1]->directory, root_ + "/a/deep/er");
}

TEST_F(RunTreeTest, TellsFilesAndTimesOfARun) {
  Write("r/events.out.tfevents.1700000900.h", "12345");
  Write("r/events.out.tfevents.1700000100.h", "123");
  Write("r/summary.1700000500.7.h_MS", "12");
  Write("r/summary.1700000500.7.h_MS_explain", "1");  // An explanation, not a training: ignored.
  Write("r/graph.pb", "1");                           // Its name contains no time.
  SetModified(Path("r/events.out.tfevents.1700000900.h"), 1'700'001'000);
  SetModified(Path("r/events.out.tfevents.1700000100.h"), 1'700'002'000);
  SetModified(Path("r/summary.1700000500.7.h_MS"), 1'700'001'500);
  SetModified(Path("r/summary.1700000500.7.h_MS_explain"), 1'800'000'000);
  SetModified(Path("r/graph.pb"), 1'700'000'000);
  RunTree tree(Options());
  tree.Rescan();
  ASSERT_THAT(tree.runs(), SizeIs(1));
  const ListedRun& run = *tree.runs()[0];
  EXPECT_EQ(run.create_us, 1'700'000'100'000'000);
  EXPECT_EQ(run.update_us, 1'700'002'000'000'000);
  EXPECT_EQ(run.bytes, 11u);
  EXPECT_FALSE(run.profile.has_value());
  std::vector<std::pair<std::string, FileKind>> files;
  for (const ListedFile& file : run.files) files.emplace_back(file.name, file.kind);
  EXPECT_THAT(files,
              ElementsAre(Pair("events.out.tfevents.1700000100.h", FileKind::kTensorBoard),
                          Pair("events.out.tfevents.1700000900.h", FileKind::kTensorBoard),
                          Pair("graph.pb", FileKind::kMindSporeGraph),
                          Pair("summary.1700000500.7.h_MS", FileKind::kMindSpore),
                          Pair("summary.1700000500.7.h_MS_explain", FileKind::kMindSporeExplain)));
  EXPECT_EQ(run.files[3].rank, 7u);
  EXPECT_EQ(run.files[1].state.bytes, 5u);
}

TEST_F(RunTreeTest, GrowthMovesTheUpdateAndNeverTheCreation) {
  Write("named/events.out.tfevents.1700000100.h");
  Write("named/events.out.tfevents.1700000900.h");
  Write("unnamed/host.tfevents");
  RunTree tree(Options());
  tree.Rescan();
  const std::int64_t created_us = tree.runs()[1]->create_us;
  EXPECT_GT(created_us, absl::ToUnixMicros(absl::Now() - absl::Hours(1)));
  // The older file, and the one whose name contains no time.
  Write("named/events.out.tfevents.1700000100.h", "more");
  SetModified(Path("named/events.out.tfevents.1700000100.h"), 4'000'000'000);
  Write("unnamed/host.tfevents", "more");
  SetModified(Path("unnamed/host.tfevents"), 4'000'000'001);
  const RunTree::Delta delta = tree.Rescan();
  ASSERT_THAT(delta.changed, SizeIs(2));
  EXPECT_EQ(delta.changed[0].run->name, "unnamed");  // The newer comes first.
  EXPECT_THAT(delta.changed[0].files, ElementsAre("host.tfevents"));
  EXPECT_EQ(delta.changed[0].run->create_us, created_us);
  EXPECT_EQ(delta.changed[0].run->update_us, 4'000'000'001'000'000);
  EXPECT_EQ(delta.changed[1].run->create_us, 1'700'000'100'000'000);
  EXPECT_EQ(delta.changed[1].run->update_us, 4'000'000'000'000'000);
}

TEST_F(RunTreeTest, WithoutABirthTheFirstChangeThatWasSeenIsTheCreation) {
  Write("r/host.tfevents");
  source_.SetBorn(Path("r/host.tfevents"), 0);
  RunTree tree(Options());
  tree.Rescan();
  const std::int64_t created_us = tree.runs()[0]->create_us;
  EXPECT_EQ(created_us, tree.runs()[0]->files[0].state.changed_ns / 1000);
  SetModified(Path("r/host.tfevents"), 4'000'000'000);  // Also changes the ctime.
  tree.Rescan();
  EXPECT_EQ(tree.runs()[0]->create_us, created_us);
  EXPECT_EQ(tree.runs()[0]->update_us, 4'000'000'000'000'000);
}

TEST_F(RunTreeTest, NotesProfilesWithoutReadingThem) {
  AddRun("r");
  Write("r/profiler_old/ascend_timeline_display_0.json");
  Write("r/profiler/gpu_op_detail_info_0.csv");
  Write("only/profiler/cpu_op_type_info_1.csv");
  Write("none/profiler/readme.txt");
  Age();
  SetModified(Path("r/profiler"), 1'650'000'000);
  RunTree tree(Options());
  tree.Rescan();
  ASSERT_THAT(Names(tree.runs()), ElementsAre("only", "r"));
  const ListedRun& only = *tree.runs()[0];
  EXPECT_EQ(only.profile->type, ProfilerType::kCpu);
  EXPECT_EQ(only.profile->directory, root_ + "/only/profiler");
  EXPECT_EQ(only.update_us, 1'600'000'000'000'000);
  EXPECT_GT(only.create_us, 0);
  EXPECT_THAT(only.files, IsEmpty());
  EXPECT_EQ(tree.runs()[1]->profile->type, ProfilerType::kGpu);
  EXPECT_EQ(tree.runs()[1]->create_us, kNamed);

  SetModified(Path("r/profiler_old"), 1'660'000'000);
  const RunTree::Delta delta = tree.Rescan();
  ASSERT_THAT(delta.changed, SizeIs(1));
  EXPECT_THAT(delta.changed[0].files, IsEmpty());
  EXPECT_EQ(delta.changed[0].run->profile->directory, root_ + "/r/profiler_old");
  EXPECT_EQ(delta.changed[0].run->profile->type, ProfilerType::kAscend);

  Remove("only/profiler");
  EXPECT_THAT(tree.Rescan().removed, ElementsAre("only"));
}

TEST_F(RunTreeTest, ASessionOfTensorBoardsProfilerIsNoRunButAProfileOfItsRun) {
  AddRun("keras/train");
  Write("keras/train/events.out.tfevents.1.h.profile-empty");
  Write("keras/train/plugins/profile/2021_07_25/host.xplane.pb");
  Write("keras/train/plugins/profile/2021_07_25/host.overview_page.pb");
  Write("keras/train/plugins/profile/2021_07_26/host.trace.json.gz");
  Write("jax/plugins/profile/2024_11_15/host.xplane.pb");
  Write("plugins/profile/of_the_root/host.xplane.pb");
  Write("other/myplugins/profile/2024/graph.pb");
  std::filesystem::create_directories(Path("none/plugins/profile/empty"));
  Age();
  SetModified(Path("keras/train/plugins/profile/2021_07_26"), 1'660'000'000);
  RunTree tree(Options());
  tree.Rescan();
  ASSERT_THAT(Names(tree.runs()),
              ElementsAre(".", "jax", "keras/train", "other/myplugins/profile/2024"));
  EXPECT_EQ(tree.runs()[0]->profile->directory, root_ + "/plugins/profile/of_the_root");
  EXPECT_THAT(tree.runs()[1]->files, IsEmpty());
  const ListedProfile& profile = *tree.runs()[2]->profile;
  EXPECT_EQ(profile.directory, root_ + "/keras/train/plugins/profile/2021_07_26");
  EXPECT_EQ(ProfilerTypeName(profile.type), "tensorboard");
  EXPECT_THAT(tree.runs()[2]->files, SizeIs(2));
  EXPECT_FALSE(tree.runs()[3]->profile.has_value());

  RunTree::Options inside = Options();
  inside.root = Path("keras/train/plugins/profile");
  RunTree sessions(inside);
  sessions.Rescan();
  EXPECT_THAT(sessions.runs(), IsEmpty());
}

TEST_F(RunTreeTest, WhatACopyIsWrittenThroughIsNoFileAndNoRun) {
  const std::string name = "events.out.tfevents.1700000000.host";
  Write("r/" + name);
  for (const char* copy :
       {".{}.Ab12Cd", "._{}", ".syncthing.{}.tmp", "{}.part", "{}~", "{}.6eF7ab01",
        ".ipynb_checkpoints/{}-checkpoint", ".rsync-partial/{}"}) {
    std::string path = copy;
    path.replace(path.find("{}"), 2, name);
    Write("r/" + path);
  }
  Write("first/" + name + ".6eF7ab01");
  std::filesystem::create_directory(Path("r/.hidden"));
  Link(Path("r"), ".link");
  RunTree tree(Options());
  tree.Rescan();
  ASSERT_THAT(Names(tree.runs()), ElementsAre("first", "r"));
  ASSERT_THAT(tree.runs()[1]->files, SizeIs(1));
  EXPECT_EQ(tree.runs()[1]->files[0].name, name);
  EXPECT_THAT(tree.runs()[0]->files, SizeIs(1)) << "there is nothing that it would replace";

  RunTree::Options hidden = Options();
  hidden.root = Path("r/.rsync-partial");
  RunTree asked_for(hidden);
  asked_for.Rescan();
  EXPECT_THAT(Names(asked_for.runs()), ElementsAre("."));
}

TEST_F(RunTreeTest, LinksAreFollowedAndLoopsEnd) {
  AddRun("real");
  Link(root_, "real/loop");
  Link(root_ + "/real", "alias");  // The path without a link takes precedence.
  Link("itself", "itself");
  Link("/nonexistent", "dangling");
  std::filesystem::create_directories(base_ + "/outside/x/y");
  std::ofstream(base_ + "/outside/x/y/" + std::string(kEvents)) << "";
  std::ofstream(base_ + "/outside/x/" + std::string(kEvents)) << "";
  Link(base_ + "/outside/x/y", "z");  // Shorter path after the link than "second/y".
  Link(base_ + "/outside/x", "second");
  Link(base_ + "/outside/x", "third");
  Age();
  RunTree tree(Options());
  tree.Rescan();
  EXPECT_THAT(Names(tree.runs()), ElementsAre("real", "second", "z"));
  EXPECT_EQ(tree.unreadable().count, 0u) << tree.unreadable().reasons[0];

  // When the first path is removed, the next one counts.
  std::filesystem::remove(Path("second"));
  std::filesystem::remove(Path("z"));
  const RunTree::Delta delta = tree.Rescan();
  EXPECT_THAT(Names(delta.added), UnorderedElementsAre("third", "third/y"));
  EXPECT_THAT(delta.removed, ElementsAre("second", "z"));
}

TEST_F(RunTreeTest, ALinkThatLeadsElsewhereIsSeenWithoutAnyChangeBesideIt) {
  std::filesystem::create_directories(base_ + "/far/one");
  std::ofstream(base_ + "/far/one/" + std::string(kEvents)) << "";
  Link(base_ + "/far/now", "link");
  Age();
  RunTree tree(Options());
  EXPECT_THAT(tree.Rescan().added, IsEmpty());
  std::filesystem::create_directory_symlink(base_ + "/far/one", base_ + "/far/now");
  EXPECT_THAT(Names(tree.Rescan().added), ElementsAre("link"));
  std::filesystem::create_directories(base_ + "/far/two");
  std::ofstream(base_ + "/far/two/" + std::string(kEvents)) << "";
  std::filesystem::remove(base_ + "/far/now");
  std::filesystem::create_directory_symlink(base_ + "/far/two", base_ + "/far/now");
  EXPECT_THAT(Names(tree.Rescan().recreated), ElementsAre("link"));
  std::filesystem::remove(base_ + "/far/now");
  EXPECT_THAT(tree.Rescan().removed, ElementsAre("link"));
}

TEST_F(RunTreeTest, ALinkToAFileIsAFileOfTheRun) {
  std::filesystem::create_directories(Path("r"));
  std::ofstream(base_ + "/data") << "1234";
  Link(base_ + "/data", "r/events.out.tfevents.1.linked");
  Link("/dev/null", "r/events.out.tfevents.2.linked");  // Not a regular file.
  RunTree tree(Options());
  tree.Rescan();
  ASSERT_THAT(Names(tree.runs()), ElementsAre("r"));
  ASSERT_THAT(tree.runs()[0]->files, SizeIs(1));
  EXPECT_EQ(tree.runs()[0]->bytes, 4u);
  EXPECT_EQ(tree.runs()[0]->create_us, 1'000'000);
  std::ofstream(base_ + "/data", std::ios::app) << "5";
  EXPECT_THAT(tree.Rescan().changed[0].files, ElementsAre("events.out.tfevents.1.linked"));
  std::filesystem::remove(base_ + "/data");
  EXPECT_THAT(tree.Rescan().removed, ElementsAre("r"));
}

TEST_F(RunTreeTest, TellsWhatCameWentAndGrew) {
  for (const std::string name : {"a", "b", "c", "d"}) {
    SetModified(Path(AddRun(name)), 1'700'000'000 + name[0]);
  }
  RunTree tree(Options());
  const RunTree::Delta first = tree.Rescan();
  EXPECT_THAT(Names(first.added), ElementsAre("d", "c", "b", "a"));  // Newest first.
  Age();
  tree.Rescan();
  const ListedRunPtr d = tree.runs()[3];

  Remove("a");
  MakeAgain("b");
  AddRun("b");
  Write("c/events.out.tfevents.1800000000.new");
  Write("c/notes.txt");
  AddRun("e/f");
  const RunTree::Delta delta = tree.Rescan();
  EXPECT_THAT(Names(delta.added), ElementsAre("e/f"));
  EXPECT_THAT(delta.removed, ElementsAre("a"));
  EXPECT_THAT(Names(delta.recreated), ElementsAre("b"));
  ASSERT_THAT(delta.changed, SizeIs(1));
  EXPECT_EQ(delta.changed[0].run->name, "c");
  EXPECT_THAT(delta.changed[0].files, ElementsAre("events.out.tfevents.1800000000.new"));
  EXPECT_TRUE(delta.directories);
  EXPECT_THAT(Names(tree.runs()), ElementsAre("b", "c", "d", "e/f"));
  EXPECT_EQ(tree.runs()[2], d);  // The same object as before.

  Age();
  tree.Rescan();
  Remove(absl::StrCat("c/", std::string(kEvents)));
  Write(absl::StrCat("d/", std::string(kEvents)), "grown");
  const RunTree::Delta second = tree.Rescan();
  ASSERT_THAT(second.changed, SizeIs(2));
  EXPECT_FALSE(second.directories);
  for (const RunTree::Changed& changed : second.changed) {
    EXPECT_THAT(changed.files, ElementsAre(kEvents)) << changed.run->name;
  }
  EXPECT_TRUE(IsNothing(tree.Rescan()));
}

TEST_F(RunTreeTest, ADirectoryWithTheNumberOfADeletedOneIsAnother) {
  AddRun("r");
  source_.SetBorn(Path("r"), 1);
  RunTree tree(Options());
  tree.Rescan();
  source_.SetBorn(Path("r"), 2);
  EXPECT_THAT(Names(tree.Rescan().recreated), ElementsAre("r"));
}

TEST_F(RunTreeTest, AFileThatWasReplacedIsAChange) {
  AddRun("r", "1234");
  Age();
  RunTree tree(Options());
  tree.Rescan();
  const FileIdentity before = tree.runs()[0]->files[0].state.identity;
  Write("r/temporary", "5678");
  std::filesystem::rename(Path("r/temporary"), Path(absl::StrCat("r/", std::string(kEvents))));
  EXPECT_THAT(tree.Rescan().changed, SizeIs(1));
  EXPECT_NE(tree.runs()[0]->files[0].state.identity, before);
}

TEST_F(RunTreeTest, NothingNewCostsOneLookADirectoryAndNoListing) {
  for (int i = 0; i < 100; ++i) AddRun(absl::StrCat("group", i % 7, "/run", i));
  Age();
  RunTree tree(Options(4));
  tree.Rescan();
  source_.Forget();
  EXPECT_TRUE(IsNothing(tree.Rescan(Scope::kChanged)));
  EXPECT_THAT(source_.looks(), SizeIs(1 + 7 + 100));
  for (const auto& [path, looks] : source_.looks()) EXPECT_EQ(looks, 1) << path;
  EXPECT_THAT(source_.lists(), IsEmpty());

  source_.Forget();
  EXPECT_TRUE(IsNothing(tree.Rescan(Scope::kAll)));
  EXPECT_THAT(source_.looks(), SizeIs(1 + 7 + 100 + 100));
  for (const auto& [path, looks] : source_.looks()) EXPECT_EQ(looks, 1) << path;
  EXPECT_THAT(source_.lists(), IsEmpty());

  AddRun("group3/new");
  source_.Forget();
  EXPECT_THAT(tree.Rescan(Scope::kChanged).added, SizeIs(1));
  EXPECT_THAT(source_.lists(), ElementsAre(Pair(Path("group3"), 1), Pair(Path("group3/new"), 1)));
  EXPECT_THAT(source_.looks(), SizeIs(1 + 7 + 101 + 1));
}

TEST_F(RunTreeTest, ADirectoryThatHasJustChangedIsListedOnceMore) {
  runtime::FakeClock clock(absl::Now());
  AddRun("r");
  RunTree::Options options = Options();
  options.clock = &clock;
  RunTree tree(options);
  tree.Rescan();
  tree.Rescan();
  EXPECT_EQ(source_.lists()[Path("r")], 2);
  clock.Advance(absl::Seconds(10));
  EXPECT_TRUE(IsNothing(tree.Rescan()));
  EXPECT_EQ(source_.lists()[Path("r")], 3);
  EXPECT_TRUE(IsNothing(tree.Rescan()));
  EXPECT_EQ(source_.lists()[Path("r")], 3);
}

TEST_F(RunTreeTest, WhatCannotBeReadStaysAsItWasAndIsTold) {
  AddRun("r");
  AddRun("r/below");
  Age();
  const struct {
    const char* what;
    absl::Status status;
    bool stat;
  } kRows[] = {
      {"listing is not allowed", absl::PermissionDeniedError("cannot list r"), false},
      {"no descriptor is left", absl::ResourceExhaustedError("cannot list r"), false},
      {"looking is not allowed", absl::PermissionDeniedError("cannot look at r"), true},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.what);
    source_.Heal();
    RunTree tree(Options());
    tree.Rescan();
    const std::string row_name =
        absl::StrCat(row.stat ? 1 : 0, "-", static_cast<int>(row.status.code()));
    Write("r/" + row_name);
    if (row.stat) {
      source_.FailStat(Path("r"), row.status);
    } else {
      source_.FailList(Path("r"), row.status);
    }
    EXPECT_TRUE(IsNothing(tree.Rescan()));
    EXPECT_THAT(Names(tree.runs()), ElementsAre("r", "r/below"));
    EXPECT_EQ(tree.unreadable().count, 1u);
    EXPECT_THAT(tree.unreadable().reasons, ElementsAre(row.status));

    // A new tree does not know the runs.
    RunTree fresh(Options());
    EXPECT_THAT(fresh.Rescan().added, IsEmpty());
    EXPECT_THAT(fresh.unreadable().reasons, ElementsAre(row.status));

    // The new tree retries, whether or not anything has changed.
    source_.Heal();
    EXPECT_THAT(Names(fresh.Rescan().added), UnorderedElementsAre("r", "r/below"));
    EXPECT_EQ(fresh.unreadable().count, 0u);
    AddRun("r/later");
    EXPECT_THAT(Names(tree.Rescan().added), ElementsAre("r/later"));
    Remove("r/later");
    Age();
  }
}

TEST_F(RunTreeTest, ARootThatCannotBeLookedIntoIsSaidToBeSo) {
  AddRun("r");
  Write("x.tfevents");
  Age();
  const absl::Status why = absl::PermissionDeniedError("no");
  for (const bool stat : {false, true}) {
    SCOPED_TRACE(stat);
    RunTree fresh(Options());
    RunTree tree(Options());
    tree.Rescan();
    EXPECT_FALSE(tree.unreadable().root);
    if (stat) {
      source_.FailStat(root_, why);
    } else {
      source_.FailList(root_, why);
    }
    fresh.Rescan();
    EXPECT_TRUE(fresh.unreadable().root);
    Write(absl::StrCat(stat, ".tfevents"));
    EXPECT_TRUE(IsNothing(tree.Rescan()));
    EXPECT_TRUE(tree.unreadable().root);
    EXPECT_THAT(Names(tree.runs()), UnorderedElementsAre(".", "r"));
    source_.Heal();
    fresh.Rescan();
    EXPECT_FALSE(fresh.unreadable().root);
    EXPECT_THAT(Names(fresh.runs()), UnorderedElementsAre(".", "r"));
    Age();
  }
  // An unreadable file, or an unreadable directory below, is less serious.
  source_.FailStat(Path("x.tfevents"), why);
  source_.FailList(Path("r"), why);
  RunTree tree(Options());
  tree.Rescan();
  EXPECT_EQ(tree.unreadable().count, 2u);
  EXPECT_FALSE(tree.unreadable().root);
}

TEST_F(RunTreeTest, AFileThatCannotBeLookedAtIsTriedAgain) {
  const std::string file = Path(AddRun("r"));
  Age();
  source_.FailStat(file, absl::PermissionDeniedError("cannot look at it"));
  RunTree tree(Options());
  EXPECT_THAT(tree.Rescan().added, IsEmpty());
  EXPECT_EQ(tree.unreadable().count, 1u);
  source_.Heal();
  EXPECT_THAT(tree.Rescan().added, SizeIs(1));
  source_.FailStat(file, absl::PermissionDeniedError("cannot look at it"));
  EXPECT_TRUE(IsNothing(tree.Rescan()));
  EXPECT_EQ(tree.unreadable().count, 1u);
}

TEST_F(RunTreeTest, ManyUnreadableDirectoriesAreCounted) {
  for (std::size_t i = 0; i < RunTree::kMaxUnreadable + 20; ++i) {
    const std::string name = absl::StrCat("r", i);
    AddRun(name);
    source_.FailList(Path(name), absl::PermissionDeniedError(name));
  }
  RunTree tree(Options(3));
  EXPECT_THAT(tree.Rescan().added, IsEmpty());
  EXPECT_THAT(tree.unreadable().reasons, SizeIs(RunTree::kMaxUnreadable));
  EXPECT_EQ(tree.unreadable().count, RunTree::kMaxUnreadable + 20);
}

TEST_F(RunTreeTest, AMissingRootHoldsNoRuns) {
  RunTree::Options options = Options();
  options.root = root_ + "/later//";
  RunTree tree(options);
  EXPECT_TRUE(IsNothing(tree.Rescan()));
  ASSERT_THAT(tree.unreadable().reasons, SizeIs(1));
  EXPECT_THAT(std::string(tree.unreadable().reasons[0].message()), HasSubstr(root_ + "/later"));
  AddRun("later/r");
  EXPECT_THAT(Names(tree.Rescan().added), ElementsAre("r"));
  EXPECT_EQ(tree.runs()[0]->directory, root_ + "/later/r");
  EXPECT_EQ(tree.unreadable().count, 0u);
  Remove("later");
  EXPECT_THAT(tree.Rescan().removed, ElementsAre("r"));
  EXPECT_THAT(tree.directories(), IsEmpty());
  Write("later", "a file");
  EXPECT_TRUE(IsNothing(tree.Rescan()));
  EXPECT_THAT(std::string(tree.unreadable().reasons[0].message()), HasSubstr("no directory"));
}

TEST_F(RunTreeTest, NamesAreTextAndNeverTheSame) {
  for (const std::string name :
       {"a\xFF", "a\xFE", "a\xFD", "z\xC3\xA4", "b\xEF\xBF\xBD", "b\xFF"}) {
    AddRun(name);
  }
  RunTree tree(Options());
  tree.Rescan();
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_THAT(Names(tree.runs()), ElementsAre("a" + mark, "a" + mark + "~2", "a" + mark + "~3",
                                              "b" + mark, "b" + mark + "~2", "z\xC3\xA4"));
  EXPECT_EQ(tree.runs()[0]->directory, root_ + "/a\xFD");
  EXPECT_EQ(tree.runs()[3]->directory, root_ + "/b" + mark);
}

TEST_F(RunTreeTest, PatternsSayWhichRunsAndWhatIsNotLookedAt) {
  for (const std::string name : {"train/a", "train/b", "eval/a", "data/huge/a", "data/a"})
    AddRun(name);
  Link(root_ + "/data", "train/link");
  RunTree::Options options = Options();
  options.include = {Pattern("^train/"), Pattern("^data/a$"), Pattern("huge")};
  options.exclude = {Pattern("/huge$"), Pattern("b$"), Pattern("link")};
  RunTree tree(options);
  tree.Rescan();
  EXPECT_THAT(Names(tree.runs()), ElementsAre("data/a", "train/a"));
  EXPECT_EQ(source_.lists().count(Path("data/huge")), 0u);
  EXPECT_EQ(source_.looks().count(Path("data/huge")), 0u);
  EXPECT_EQ(source_.lists().count(Path("train/link")), 0u);
}

TEST(PatternsOfFlagTest, NoneOneOrWhatIsWrong) {
  EXPECT_THAT(*PatternsOfFlag("include", ""), IsEmpty());
  const auto patterns = PatternsOfFlag("include", "^(a|b){1,2}$");
  ASSERT_THAT(*patterns, SizeIs(1));
  EXPECT_TRUE(patterns->front().Matches("ab"));
  EXPECT_FALSE(patterns->front().Matches("c"));
  EXPECT_EQ(PatternsOfFlag("exclude", "a(").status(),
            absl::InvalidArgumentError("--exclude is no regular expression (RE2): missing ): a("));
}

TEST_F(RunTreeTest, LooksAtRunsThatAreNamed) {
  const std::string a = AddRun("a"), b = AddRun("b");
  Age();
  RunTree tree(Options());
  tree.Rescan();
  const ListedRunPtr before = tree.runs()[1];
  Write(a, "12");
  Write(b, "123");
  source_.Forget();
  const std::vector<std::string> names = {"b", "unknown", "b"};
  const RunTree::Delta delta = tree.RescanRuns(names);
  ASSERT_THAT(delta.changed, SizeIs(1));
  EXPECT_EQ(delta.changed[0].run->bytes, 3u);
  EXPECT_THAT(delta.changed[0].files, ElementsAre(kEvents));
  EXPECT_EQ(tree.runs()[1], delta.changed[0].run);
  EXPECT_EQ(before->bytes, 0u);
  EXPECT_THAT(source_.looks(), ElementsAre(Pair(Path(b), 1)));
  EXPECT_THAT(source_.lists(), IsEmpty());
  EXPECT_TRUE(IsNothing(tree.RescanRuns(names)));
  // The next scan reports the other run only.
  const RunTree::Delta rest = tree.Rescan();
  ASSERT_THAT(rest.changed, SizeIs(1));
  EXPECT_EQ(rest.changed[0].run->name, "a");
  // RescanRuns() leaves the detection of a removed run to the next scan.
  Remove(b);
  EXPECT_TRUE(IsNothing(tree.RescanRuns(names)));
  EXPECT_THAT(tree.Rescan().removed, ElementsAre("b"));
}

TEST_F(RunTreeTest, ADeepTreeNeedsNoDescriptorForEachLevel) {
  const std::string level(40, 'd');
  std::string deep = level;
  while (deep.size() < 3'000) deep += "/" + level;
  AddRun(deep);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  RunTree tree(Options(4));
  rlimit few = before;
  few.rlim_cur = 24;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  tree.Rescan();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(Names(tree.runs()), ElementsAre(deep));
  EXPECT_EQ(tree.unreadable().count, 0u) << tree.unreadable().reasons[0];
}

TEST_F(RunTreeTest, APathThatTheSystemCannotTakeIsTold) {
  AddRun("r");
  // Deeper than any path can name: each directory is made relative to its parent.
  int parent = open(root_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(parent, 0);
  const std::string name(200, 'd');
  for (int i = 0; i < 25; ++i) {
    ASSERT_EQ(mkdirat(parent, name.c_str(), 0700), 0);
    const int child = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(parent);
    parent = child;
    ASSERT_GE(parent, 0);
  }
  close(parent);
  RunTree tree(Options());
  tree.Rescan();
  EXPECT_THAT(Names(tree.runs()), ElementsAre("r"));
  ASSERT_EQ(tree.unreadable().count, 1u);
  EXPECT_EQ(tree.unreadable().reasons[0].code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(std::system(("rm -r " + root_).c_str()), 0);  // rm can delete directories that are too
                                                          // deep for a path.
}

// A tree that followed the changes step by step equals a new tree, with any number of threads.
TEST_F(RunTreeTest, ATreeThatFollowsChangesIsWhatANewOneFinds) {
  std::mt19937 random(20'240'229);
  const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  std::filesystem::create_directories(base_ + "/elsewhere/in/side");
  std::ofstream(base_ + "/elsewhere/in/side/" + std::string(kEvents)) << "";
  const std::string kNames[] = {"a", "b", "c", "profiler", "e\xFF", "e\xFE"};
  const std::string kFiles[] = {std::string(kEvents), "summary.1600000000.1.h_MS",
                                "tfevents.1600000000.profile-empty", "gpu_op_detail_info_0.csv",
                                "notes.txt"};
  RunTree one(Options(1));
  RunTree many(Options(8));
  std::size_t runs_seen = 0;
  for (int step = 0; step < 150; ++step) {
    Age();
    one.Rescan();
    many.Rescan();
    std::string directory;
    for (unsigned depth = pick(4); depth > 0; --depth) {
      directory += (directory.empty() ? "" : "/") + kNames[pick(std::size(kNames))];
    }
    const std::string below = directory.empty() ? "" : directory + "/";
    std::error_code unused;  // Fails harmlessly where a link or a file is in the way.
    const std::string target = Path(below + kNames[pick(std::size(kNames))]);
    switch (pick(7)) {
      case 0:
        std::filesystem::create_directories(target, unused);
        break;
      case 1:
        std::filesystem::remove_all(target, unused);
        break;
      case 2:
        std::filesystem::create_symlink(
            pick(2) == 0 ? base_ + "/elsewhere/in" : Path(kNames[pick(3)]), target, unused);
        break;
      case 3:
        std::filesystem::rename(target, Path(kNames[pick(std::size(kNames))]), unused);
        break;
      default:
        std::filesystem::create_directories(Path(directory), unused);
        std::ofstream(Path(below + kFiles[pick(std::size(kFiles))]), std::ios::app) << "x";
    }
    const std::vector<ListedRunPtr> before(one.runs().begin(), one.runs().end());
    const RunTree::Delta delta = one.Rescan();
    many.Rescan();
    RunTree fresh(Options(3));
    fresh.Rescan();
    const auto same = [](const ListedRunPtr& a, const ListedRunPtr& b) { return *a == *b; };
    ASSERT_TRUE(std::equal(one.runs().begin(), one.runs().end(), fresh.runs().begin(),
                           fresh.runs().end(), same))
        << "step " << step << ": " << testing::PrintToString(Names(one.runs())) << " and "
        << testing::PrintToString(Names(fresh.runs()));
    ASSERT_TRUE(std::equal(one.runs().begin(), one.runs().end(), many.runs().begin(),
                           many.runs().end(), same))
        << "step " << step;
    ASSERT_TRUE(std::equal(one.directories().begin(), one.directories().end(),
                           fresh.directories().begin(), fresh.directories().end()))
        << "step " << step;
    // Applying the delta to the old runs yields the new ones.
    std::map<std::string, ListedRunPtr> followed;
    for (const ListedRunPtr& run : before) followed[run->name] = run;
    for (const std::string& name : delta.removed) ASSERT_EQ(followed.erase(name), 1u) << name;
    for (const ListedRunPtr& run : delta.added)
      ASSERT_TRUE(followed.emplace(run->name, run).second);
    for (const ListedRunPtr& run : delta.recreated) followed.at(run->name) = run;
    for (const RunTree::Changed& changed : delta.changed) {
      followed.at(changed.run->name) = changed.run;
    }
    std::vector<ListedRunPtr> reached;
    for (const auto& [name, run] : followed) reached.push_back(run);
    ASSERT_TRUE(std::equal(reached.begin(), reached.end(), one.runs().begin(), one.runs().end()))
        << "step " << step;
    runs_seen += one.runs().size();
  }
  EXPECT_GT(runs_seen, 300u);  // Enough runs were involved.
}

}  // namespace
}  // namespace datamanager
