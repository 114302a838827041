#include "web/views/saved_views.h"

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace web {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SavedViewsTest : public testing::Test {
 protected:
  SavedViewsTest() {
    char folder[] = "/tmp/views-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    file_ = folder_ + "/web.views";
  }
  ~SavedViewsTest() override {
    unlink(file_.c_str());
    unlink((file_ + ".damaged").c_str());
    rmdir(folder_.c_str());
  }
  std::unique_ptr<SavedViews> Open() { return SavedViews::Open(file_, &clock_); }
  std::vector<std::string> Names(const std::string& logdir) {
    std::vector<std::string> names;
    for (const SavedView& view : Open()->List(logdir)) names.push_back(view.name);
    return names;
  }

  std::string folder_, file_;
  runtime::FakeClock clock_;
};

TEST_F(SavedViewsTest, ViewsOfALogDirectoryOutliveTheService) {
  const auto views = Open();
  EXPECT_THAT(views->List("/runs"), IsEmpty());
  ASSERT_TRUE(views->Save("/runs", "the best", "/runs?q=loss%3C0.1").ok());
  ASSERT_TRUE(views->Save("/runs", "all", "/runs").ok());
  ASSERT_TRUE(views->Save("/others", "mine", "/sweeps").ok());
  EXPECT_THAT(Open()->List("/runs"),
              ElementsAre(SavedView{"all", "/runs", clock_.Now()},
                          SavedView{"the best", "/runs?q=loss%3C0.1", clock_.Now()}));
  ASSERT_TRUE(views->Save("/runs", "all", "/runs?sort=-loss").ok());
  EXPECT_EQ(Open()->List("/runs").front().address, "/runs?sort=-loss");
  ASSERT_TRUE(views->Remove("/runs", "all").ok());
  EXPECT_EQ(views->Remove("/runs", "all").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Names("/runs"), ElementsAre("the best"));
  EXPECT_THAT(Names("/others"), ElementsAre("mine"));
}

TEST_F(SavedViewsTest, OnlyAddressesOfThePageAreSaved) {
  const auto views = Open();
  for (const char* address : {"", "runs", "//evil.example/", "https://evil.example/",
                              "javascript:alert(1)", "/a\nb", "/\xff", "/\\evil.example/"}) {
    EXPECT_EQ(views->Save("/runs", "x", address).code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string("\xff"),
                                  std::string(kMaxViewName + 1, 'a')}) {
    EXPECT_EQ(views->Save("/runs", name, "/runs").code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(views->Save("/runs", "x", "/" + std::string(kMaxViewAddress, 'a')).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(views->List("/runs"), IsEmpty());
}

TEST_F(SavedViewsTest, TheirNumberHasALimit) {
  const auto views = Open();
  for (std::size_t i = 0; i < kMaxSavedViews; ++i) {
    ASSERT_TRUE(views->Save("/runs", absl::StrCat("v", i), "/runs").ok());
  }
  EXPECT_EQ(views->Save("/others", "more", "/runs").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(views->Save("/runs", "v0", "/sweeps").ok());
}

TEST_F(SavedViewsTest, ADamagedFileIsPutAside) {
  std::string aside = file_ + ".damaged";
  for (const char* text : {"", "[]"}) {
    ASSERT_TRUE(runtime::WriteFileAtomically(file_, text, 0600).ok());
    const auto views = Open();
    EXPECT_THAT(views->List("/runs"), IsEmpty());
    EXPECT_EQ(*runtime::ReadFile(aside, 1000), text);
    EXPECT_TRUE(views->Save("/runs", "a", "/runs").ok());
    aside = file_ + ".damaged.2";
  }
  EXPECT_EQ(*runtime::ReadFile(file_ + ".damaged", 1000), "") << "the first one is still there";
  unlink(aside.c_str());
}

TEST_F(SavedViewsTest, AnEntryThatIsNoViewCostsOnlyItself) {
  ASSERT_TRUE(runtime::WriteFileAtomically(
                  file_,
                  R"({"/others": 7, "/runs": {"a": {}, "b": 7, "c": {"address": "//evil"},
                      "d": {"address": "/runs", "saved_us": "x"}}})",
                  0600)
                  .ok());
  EXPECT_THAT(Names("/runs"), ElementsAre("d"));
}

TEST_F(SavedViewsTest, WhatCannotBeWrittenIsNotThere) {
  const auto views = SavedViews::Open(folder_ + "/none/web.views", &clock_);
  EXPECT_FALSE(views->Save("/runs", "a", "/runs").ok());
  EXPECT_THAT(views->List("/runs"), IsEmpty());
}

}  // namespace
}  // namespace web
