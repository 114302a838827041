#include "datamanager/index/index_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/index/index_file.h"

namespace datamanager {
namespace {

class IndexStoreTest : public testing::Test {
 protected:
  IndexStoreTest() {
    char name[] = "/tmp/stor-XXXXXX";
    root_ = mkdtemp(name);
    directory_ = root_ + "/state/index";
  }
  ~IndexStoreTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<IndexStore> Open(std::uint64_t budget) const {
    auto store = IndexStore::Open({.directory = directory_, .byte_budget = budget});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // Returns an index of a run of slightly more than `bytes` bytes.
  static IndexWriter Index(const std::string& run, std::size_t bytes = 0) {
    IndexedRun index;
    index.directory = run;
    IndexWriter writer(index);
    IndexedTag tag;
    tag.content = std::string(bytes, 'x');
    writer.AddTag(tag, nullptr, {});
    return writer;
  }
  static std::set<std::string> Runs(const IndexStore& store) {
    std::set<std::string> runs;
    for (const char* run : {"/a", "/b", "/c", "/d"}) {
      if (store.Read(run, IndexPart::kAll).ok()) runs.insert(run);
    }
    return runs;
  }
  std::size_t Files() const {
    const std::filesystem::directory_iterator all(directory_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  std::string PathOf(const std::string& run) const { return directory_ + "/" + IndexFileName(run); }

  std::string root_;
  std::string directory_;
};

using Names = std::set<std::string>;

TEST_F(IndexStoreTest, WhatIsWrittenIsFoundByTheNextProcess) {
  {
    const auto store = Open(1 << 20);
    EXPECT_EQ(store->Read("/a", IndexPart::kAll).status().code(), absl::StatusCode::kNotFound);
    ASSERT_TRUE(store->Write("/a", 1, Index("/a", 7)).ok());
    ASSERT_TRUE(store->Write("/a", 2, Index("/a", 9)).ok());
    EXPECT_EQ(store->GetStats().files, 1u);
  }
  const auto store = Open(1 << 20);
  const auto index = store->Read("/a", IndexPart::kAll);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->tags()[0].content.size(), 9u);
  EXPECT_EQ(store->GetStats().bytes, std::filesystem::file_size(PathOf("/a")));
  struct stat about {};
  ASSERT_EQ(stat(PathOf("/a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  store->Remove("/a");
  store->Remove("/b");
  EXPECT_EQ(Files(), 0u);
}

TEST_F(IndexStoreTest, TheNewestRunsHaveTheRoom) {
  constexpr std::size_t kSize = 1000;
  {
    const auto store = Open(2 * (kSize + 200));
    ASSERT_TRUE(store->Write("/b", 20, Index("/b", kSize)).ok());
    ASSERT_TRUE(store->Write("/a", 10, Index("/a", kSize)).ok());
    ASSERT_TRUE(store->Write("/c", 30, Index("/c", kSize)).ok());
    EXPECT_EQ(Runs(*store), (Names{"/b", "/c"}));
    EXPECT_EQ(store->Write("/a", 10, Index("/a", kSize)).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(store->Write("/d", 40, Index("/d", 3 * kSize)).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Runs(*store), (Names{"/b", "/c"})) << "nothing makes room in vain";
    // An index that became too large is removed: its old version would be wrong.
    EXPECT_FALSE(store->Write("/b", 21, Index("/b", 3 * kSize)).ok());
    EXPECT_EQ(Files(), 1u);
    ASSERT_TRUE(store->Write("/b", 21, Index("/b", kSize)).ok());
    EXPECT_EQ(store->GetStats().dropped, 4u);
  }
  // A later process knows which index is newer.
  EXPECT_EQ(Runs(*Open(kSize + 200)), Names{"/c"});
  EXPECT_EQ(Open(0)->GetStats().files, 0u);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(IndexStoreTest, WhatIsOfNoRunIsRemoved) {
  auto store = Open(1 << 20);
  for (const char* run : {"/a", "/b", "/c"}) ASSERT_TRUE(store->Write(run, 1, Index(run)).ok());
  std::ofstream(PathOf("/a") + ".0123.tmp") << "a writer was killed";
  std::ofstream(directory_ + "/notes") << "somebody's";
  std::filesystem::create_symlink("/etc/passwd", PathOf("/d"));
  store = Open(1 << 20);
  EXPECT_EQ(Files(), 4u) << "three and the notes";
  store->KeepOnly({"/b", "/d"});
  EXPECT_EQ(Runs(*store), Names{"/b"});
  EXPECT_EQ(Files(), 2u);
  EXPECT_EQ(store->GetStats().files, 1u);
}

// (A limit on file sizes stands in for a full disk: both fail in the same way.)
TEST_F(IndexStoreTest, AFullDiskLeavesNothing) {
  const auto store = Open(1 << 20);
  ASSERT_TRUE(store->Write("/a", 1, Index("/a")).ok());
  ASSERT_TRUE(store->Write("/b", 1, Index("/b")).ok());
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = store->Write("/a", 2, Index("/a", 100'000));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(directory_), absl::string_view::npos) << status;
  EXPECT_EQ(Runs(*store), Names{"/b"});
  EXPECT_EQ(Files(), 1u);
  EXPECT_EQ(store->GetStats().bytes, std::filesystem::file_size(PathOf("/b")));
}

TEST_F(IndexStoreTest, ADirectoryThatOthersMayEnterIsNotUsed) {
  std::filesystem::create_directories(directory_);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const auto store = IndexStore::Open({.directory = directory_, .byte_budget = 1});
  EXPECT_EQ(store.status().code(), absl::StatusCode::kPermissionDenied) << store.status();
}

}  // namespace
}  // namespace datamanager
