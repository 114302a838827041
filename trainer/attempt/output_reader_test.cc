#include "trainer/attempt/output_reader.h"

#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "trainer/report/output_format.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class OutputReaderTest : public ::testing::Test {
 protected:
  OutputReaderTest() {
    char name[] = "/tmp/or-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~OutputReaderTest() override {
    On([&] { reader_.reset(); });
    loop_.Stop();
    std::filesystem::remove_all(directory_);
  }

  void Open(std::int64_t offset = 0, const std::string& format = "values") {
    On([&] {
      reader_ = std::make_unique<OutputReader>(
          OutputReader::Options{.loop = loop_.loop(),
                                .path = directory_ + "/out",
                                .offset = offset,
                                .format = *OutputFormat::From(format),
                                .take = [this](const std::vector<OutputReader::Line>& lines) {
                                  ++calls_;
                                  if (!takes_) return false;
                                  for (const auto& line : lines) {
                                    taken_.push_back(absl::StrCat(line.end, " ", line.metrics));
                                  }
                                  return true;
                                }});
    });
  }
  void On(const std::function<void()>& body) {
    loop_.Call(body);
    loop_.Settle();
  }
  void Write(const std::string& text) {
    const std::string path = directory_ + "/out";
    const runtime::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    ASSERT_TRUE(runtime::WriteAll(file.get(), text).ok());
  }
  // Lets the reader look once, and again as long as it finds output.
  void Look(absl::Duration passed = absl::Milliseconds(100)) {
    clock_.Advance(passed);
    for (int i = 0; i < 50; ++i) On([] {});
  }
  void Finish() {
    On([&] {
      reader_->Finish([this](bool took_all) {
        ++ended_;
        took_all_ = took_all;
      });
    });
    Look(absl::ZeroDuration());
  }

  runtime::FakeClock clock_;
  LoopThread loop_{&clock_};
  std::string directory_;
  std::vector<std::string> taken_;
  int calls_ = 0;
  bool takes_ = true;
  int ended_ = 0;
  bool took_all_ = false;
  std::unique_ptr<OutputReader> reader_;
};

TEST_F(OutputReaderTest, TakesLinesOnceTheyAreWhole) {
  Open();
  Look();
  EXPECT_EQ(calls_, 0) << "there is no file yet";
  Write("a=1\nstarting\na=2\na=");
  Look();
  EXPECT_THAT(taken_, ElementsAre("4 {\"a\":1}", "17 {\"a\":2}"));
  Write("3\n");
  Look();
  EXPECT_THAT(taken_, SizeIs(3));
  EXPECT_EQ(taken_.back(), "21 {\"a\":3}");
  EXPECT_EQ(calls_, 2);
  Look();
  EXPECT_EQ(calls_, 2) << "nothing was written";
  Write("no report\n");
  Look();
  EXPECT_EQ(calls_, 3) << "a sign of life";
}

TEST_F(OutputReaderTest, GoesOnBehindWhatIsKnown) {
  Write("a=1\na=2\n");
  Open(4);
  Look();
  EXPECT_THAT(taken_, ElementsAre("8 {\"a\":2}"));
}

TEST_F(OutputReaderTest, ALastLineNeedsNoNewline) {
  Write("a=1\na=2");
  Open();
  Look();
  EXPECT_THAT(taken_, SizeIs(1));
  Finish();
  EXPECT_THAT(taken_, ElementsAre("4 {\"a\":1}", "7 {\"a\":2}"));
  EXPECT_EQ(ended_, 1);
  Write("\na=3\n");
  Look();
  EXPECT_THAT(taken_, SizeIs(2));
}

TEST_F(OutputReaderTest, EndsWithoutAFile) {
  Open();
  Finish();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(calls_, 0);
}

TEST_F(OutputReaderTest, WhatCannotBeTakenComesAgain) {
  Write("a=1\na=2\n");
  takes_ = false;
  Open();
  Look();
  EXPECT_EQ(calls_, 1);
  Finish();
  EXPECT_EQ(ended_, 0);
  takes_ = true;
  Look(absl::Seconds(1));
  EXPECT_THAT(taken_, ElementsAre("4 {\"a\":1}", "8 {\"a\":2}"));
  EXPECT_EQ(ended_, 1);
}

TEST_F(OutputReaderTest, WhatCannotBeTakenIsGivenUpOnlyAfterTheEnd) {
  for (const bool before_the_end : {true, false}) {
    Write("a=1\n");
    takes_ = false;
    ended_ = calls_ = 0;
    Open();
    if (before_the_end) On([&] { reader_->GiveUp(); });
    for (int i = 0; i < 5; ++i) Look(absl::Seconds(1));
    EXPECT_EQ(calls_, 5) << "it is tried again";
    Finish();
    EXPECT_EQ(ended_, before_the_end ? 1 : 0);
    On([&] { reader_->GiveUp(); });
    Look(absl::ZeroDuration());
    EXPECT_EQ(ended_, 1);
    EXPECT_FALSE(took_all_);
  }
}

TEST_F(OutputReaderTest, WhatCanBeTakenIsNeverGivenUp) {
  Write("a=1\n");
  Open();
  On([&] { reader_->GiveUp(); });
  Finish();
  EXPECT_THAT(taken_, SizeIs(1));
  EXPECT_TRUE(took_all_);
}

TEST_F(OutputReaderTest, ALineMayBeLongButNotTooLong) {
  const std::string long_line = "a=1 " + std::string(1'000'000, 'x') + "\n";
  Write(long_line + "b=" + std::string(3 << 20, '1') + " c=1\nd=1\n");
  Open();
  Look();
  EXPECT_THAT(taken_,
              ElementsAre(absl::StrCat(long_line.size(), " {\"a\":1}"),
                          absl::StrCat(long_line.size() + 2 + (3 << 20) + 5 + 4, " {\"d\":1}")));
  Finish();
  EXPECT_EQ(ended_, 1);
}

TEST_F(OutputReaderTest, MuchOutputIsReadInPieces) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&text, "a=", i, "\n");
  Write(text);
  Open();
  Finish();
  EXPECT_EQ(ended_, 1);
  ASSERT_THAT(taken_, SizeIs(100'000));
  EXPECT_EQ(taken_.back(), absl::StrCat(text.size(), " {\"a\":99999}"));
  EXPECT_GT(calls_, 2);
}

// A progress bar of four steps with their losses, and the end offset of each state.
class OutputReaderBarTest : public OutputReaderTest {
 protected:
  static std::string State(int done, const std::string& values) {
    return absl::StrCat("\rfit:  ", 25 * done, "%|##  | ", done, "/4 [00:00<00:00, 9.1it/s",
                        values.empty() ? "" : ", ", values, "]");
  }
  std::vector<std::string> Metrics() const {
    std::vector<std::string> metrics;
    for (const std::string& line : taken_) metrics.push_back(line.substr(line.find(' ') + 1));
    return metrics;
  }
};

TEST_F(OutputReaderBarTest, EachStateIsAReportOnceTheBarGoesOn) {
  Open(0, "tqdm");
  Write(State(0, "") + State(1, "loss=0.5") + State(1, "loss=0.4"));
  Look();
  EXPECT_THAT(Metrics(), SizeIs(0)) << "it may be written over";
  Write(State(2, "loss=0.3"));
  Look();
  EXPECT_THAT(Metrics(), SizeIs(0)) << "it may not be whole";
  Write(State(3, "loss=0.3"));
  Look();
  EXPECT_THAT(Metrics(), ElementsAre(R"({"loss":0.4})"));
  // The end of the bar repeats the previous state.
  Write(State(4, "loss=0.3") + "\nloss=7\n");
  Look();
  EXPECT_THAT(Metrics(), ElementsAre(R"({"loss":0.4})", R"({"loss":0.3})", R"({"loss":0.3})"));
  Write(State(1, "loss=0.2"));
  Finish();
  EXPECT_THAT(Metrics(), SizeIs(4));
  EXPECT_TRUE(took_all_);
}

TEST_F(OutputReaderBarTest, ABarThatWasClearedAndDrawnAgainSaysNothingNew) {
  Open(0, "auto");
  const std::string clear = "\r          \r";
  Write(State(1, "loss=0.5") + clear + "acc=0.9\n" + State(1, "loss=0.5") + State(2, "loss=0.25") +
        clear + State(2, "loss=0.25") + "\r\n");
  Look();
  EXPECT_THAT(Metrics(), ElementsAre(R"({"loss":0.5})", R"({"acc":0.9})", R"({"loss":0.25})"));
}

TEST_F(OutputReaderBarTest, ARestartAnywhereTakesEachStateOnce) {
  std::string text = "begin\r\n";
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int done = 0; done <= 4; ++done) {
      text += State(done, absl::StrCat("loss=", epoch * 4 + std::min(done, 3)));
    }
    text += "\nval=1\r\n";
  }
  Write(text);
  Open(0, "auto");
  Look();
  Finish();
  const std::vector<std::string> whole = taken_;
  EXPECT_THAT(whole, SizeIs(15));
  for (const std::string& line : whole) {
    taken_.clear();
    On([&] { reader_.reset(); });
    Open(std::stoll(line), "auto");
    Finish();
    std::vector<std::string> rest(whole.end() - static_cast<std::ptrdiff_t>(taken_.size()),
                                  whole.end());
    EXPECT_EQ(taken_, rest) << "behind " << line;
    EXPECT_EQ(rest.size() + 1,
              static_cast<std::size_t>(whole.end() - std::find(whole.begin(), whole.end(), line)));
  }
}

TEST_F(OutputReaderBarTest, WrittenByteByByteItSaysTheSame) {
  const std::string text = State(1, "loss=0.5") + State(2, "loss=0.25") +
                           "\r\nacc=1\r\n{'a': 2}\r\n" + State(4, "loss=1") + "\n";
  Open(0, "auto");
  for (const char c : text) {
    Write(std::string(1, c));
    Look();
  }
  EXPECT_THAT(Metrics(), ElementsAre(R"({"loss":0.5})", R"({"loss":0.25})", R"({"acc":1})",
                                     R"({"a":2})", R"({"loss":1})"));
}

TEST_F(OutputReaderBarTest, TheBarsOfTqdmAndLightning) {
  for (const auto& [file, reports] : {std::pair("tqdm", 7), std::pair("lightning", 24)}) {
    taken_.clear();
    On([&] { reader_.reset(); });
    std::filesystem::remove(directory_ + "/out");
    Write(*runtime::ReadFile(absl::StrCat("trainer/report/testdata/printed/", file, ".txt"),
                             1 << 20));
    Open(0, "auto");
    Finish();
    EXPECT_THAT(taken_, SizeIs(static_cast<std::size_t>(reports))) << file;
  }
}

TEST_F(OutputReaderBarTest, ABarWithoutEndsOfLinesStaysWithinBounds) {
  Open(0, "tqdm");
  for (int i = 0; i < 3; ++i) Write(std::string(1 << 20, 'x'));
  Look();
  Write(State(1, "loss=1") + "\n" + State(2, "loss=2") + "\n");
  Look();
  EXPECT_THAT(Metrics(), ElementsAre(R"({"loss":2})"))
      << "the rest of the long line is passed over";
}

}  // namespace
}  // namespace trainer
