#include "launcher/log/log_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/job/job_row.h"
#include "launcher/wire/log_files.h"
#include "launcher/wire/log_times.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;

class LogSearchTest : public ::testing::Test {
 protected:
  LogSearchTest() {
    char name[] = "/tmp/ylsXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~LogSearchTest() override { std::filesystem::remove_all(folder_); }

  // Adds a stream of a live attempt that started `started` seconds after the beginning.
  std::size_t Add(const std::string& task, int started = 0) {
    const std::string path = absl::StrCat(folder_, "/", streams_.size());
    std::ofstream(path, std::ios::app);
    streams_.push_back({.task = task,
                        .attempt = 1,
                        .started_us = kBegin + started * kSecond,
                        .end = ~std::uint64_t{0},
                        .path = path,
                        .times_path = path + ".times"});
    return streams_.size() - 1;
  }
  // Writes at that second, and records it in the index like a shim.
  void Write(std::size_t stream, int second, const std::string& text) {
    const std::string& path = streams_[stream].path;
    const LogFiles files = FindLogFiles(path);
    LogTimes(streams_[stream].times_path).Note(kBegin + second * kSecond, files.current_end);
    std::ofstream(path, std::ios::app) << text;
  }
  void End(std::size_t stream, int second) {
    streams_[stream].ended_us = kBegin + second * kSecond;
    streams_[stream].end = FindLogFiles(streams_[stream].path).current_end;
  }
  absl::StatusOr<msg::SearchLogsReplyT> Ask(const std::string& cursor = "") {
    request_.cursor = cursor;
    return SearchStreams(
        streams_, request_, [this] { return cancelled_; }, most_bytes_);
  }
  static std::vector<std::string> Texts(const msg::SearchLogsReplyT& reply) {
    std::vector<std::string> texts;
    for (const auto& line : reply.lines) {
      texts.emplace_back(line->text.begin(), line->text.end());
    }
    return texts;
  }
  // Returns all lines, over as many answers as necessary.
  std::vector<std::string> All() {
    std::vector<std::string> all;
    std::string cursor;
    answers_ = 0;
    do {
      const auto reply = Ask(cursor);
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply.ok() || ++answers_ > 10'000) return all;
      for (auto& text : Texts(*reply)) all.push_back(std::move(text));
      EXPECT_NE(reply->next, cursor.empty() ? "-" : cursor);
      cursor = reply->next;
    } while (!cursor.empty());
    return all;
  }

  std::string folder_;
  std::vector<SearchedStream> streams_;
  msg::SearchLogsRequestT request_;
  std::size_t most_bytes_ = kMostSearchedBytes;
  bool cancelled_ = false;
  int answers_ = 0;
};

TEST_F(LogSearchTest, LinesOfAllTasksComeTheNewestFirst) {
  const auto a = Add("j-a/worker-0"), b = Add("j-b/worker-0");
  Write(a, 1, "a1 loss\nno\n");
  Write(b, 2, "b2 loss\n");
  Write(a, 3, "a3 loss\n");
  Write(b, 4, "b4 loss\nb4 loss again\n");
  request_.pattern = "lo+ss";
  const auto reply = Ask();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(Texts(*reply),
              ElementsAre("b4 loss again", "b4 loss", "a3 loss", "b2 loss", "a1 loss"));
  EXPECT_EQ(reply->lines[0]->task, "j-b/worker-0");
  EXPECT_EQ(reply->lines[0]->time_us, kBegin + 4 * kSecond);
  EXPECT_EQ(reply->lines[0]->offset, 16u);
  EXPECT_EQ(reply->lines[4]->time_us, kBegin + kSecond);
  EXPECT_EQ(reply->next, "");
}

TEST_F(LogSearchTest, PagesOfAnySizeHaveEachLineOnce) {
  std::vector<std::string> expected;
  std::vector<std::size_t> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(Add(absl::StrCat("j-", i, "/worker-0"), i * 3));
  for (int second = 12; second < 60; ++second) {
    for (int i = 0; i < 4; ++i) {
      if ((second + i) % 3 == 0) continue;
      std::string text;
      for (int k = 0; k < 1 + second % 4; ++k) {
        text += absl::StrCat("line ", second, " of ", i, " ", k, "\n");
        expected.push_back(absl::StrCat("line ", second, " of ", i, " ", k));
      }
      Write(streams[static_cast<std::size_t>(i)], second, text);
    }
  }
  End(streams[1], 61);
  std::reverse(expected.begin(), expected.end());
  for (std::uint32_t limit : {1u, 2u, 3u, 7u, 1000u}) {
    request_.limit = limit;
    EXPECT_EQ(All(), expected) << limit;
  }
  // Each answer reads as little as possible.
  request_.limit = 1000;
  most_bytes_ = 1;
  EXPECT_EQ(All(), expected);
  EXPECT_GT(answers_, 40);
}

TEST_F(LogSearchTest, ALineThatWasWrittenInPartsIsOfTheTimeItBegan) {
  const auto a = Add("j-a/worker-0"), b = Add("j-b/worker-0");
  Write(a, 1, "first\nbegun at 2");
  Write(b, 3, "three\n");
  Write(a, 4, ", ended at 4\nlast\nno newline");
  EXPECT_THAT(All(), ElementsAre("no newline", "last", "three", "begun at 2, ended at 4", "first"));
  request_.limit = 1;
  EXPECT_THAT(All(), ElementsAre("no newline", "last", "three", "begun at 2, ended at 4", "first"));
}

TEST_F(LogSearchTest, NewLinesDoNotDisturbPages) {
  const auto a = Add("j-a/worker-0");
  Write(a, 1, "one\ntwo\n");
  Write(a, 2, "three\n");
  request_.limit = 2;
  const auto first = Ask();
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(Texts(*first), ElementsAre("three", "two"));
  Write(a, 3, "four\n");
  Write(Add("j-b/worker-0", 4), 4, "five\n");
  const auto second = Ask(first->next);
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(Texts(*second), ElementsAre("one"));
}

TEST_F(LogSearchTest, LongLinesAndEmptyOnesAreLines) {
  const auto a = Add("j-a/worker-0");
  Write(a, 1, absl::StrCat("\n\nx\r\n", std::string(300'000, 'y'), "\n\nz\n"));
  const auto reply = Ask();
  ASSERT_TRUE(reply.ok());
  const auto texts = Texts(*reply);
  ASSERT_GE(texts.size(), 6u);
  EXPECT_EQ(texts[0], "z");
  EXPECT_EQ(texts[1], "");
  EXPECT_THAT(texts[2], SizeIs(kMostFoundLineBytes));
  EXPECT_EQ(texts[texts.size() - 3], "x");
  EXPECT_EQ(texts.back(), "");
}

TEST_F(LogSearchTest, ATimeLeavesOutWhatIsOlder) {
  const auto a = Add("j-a/worker-0"), b = Add("j-b/worker-0");
  Write(b, 1, "old and over\n");
  End(b, 2);
  for (int second = 1; second < 9; ++second) Write(a, second, absl::StrCat(second, "\n"));
  request_.since_us = kBegin + 6 * kSecond;
  EXPECT_THAT(All(), ElementsAre("8", "7", "6", "5"));
}

TEST_F(LogSearchTest, WithoutAnIndexLinesAreOfTheBeginning) {
  const auto a = Add("j-a/worker-0", 5), b = Add("j-b/worker-0", 1);
  std::ofstream(streams_[a].path) << "a\n";
  Write(b, 3, "b3\n");
  Write(b, 9, "b9\n");
  EXPECT_THAT(All(), ElementsAre("b9", "a", "b3"));
}

TEST_F(LogSearchTest, AClockThatWasSetBackLeavesNothingOut) {
  const auto a = Add("j-a/worker-0");
  Write(a, 100, "one\n");
  Write(a, 200, "two\n");
  Write(a, 150, "three\n");
  request_.limit = 1;
  EXPECT_THAT(All(), ElementsAre("three", "two", "one"));
}

TEST_F(LogSearchTest, WhatWasRotatedAwayIsLeftOutAndTheRestIsFound) {
  const auto a = Add("j-a/worker-0");
  Write(a, 1, "gone\n");
  for (int i = 2; i < 5; ++i) {
    const std::string& path = streams_[a].path;
    std::filesystem::rename(path, LogSegmentPath(path, FindLogFiles(path).current_begin));
    std::ofstream(path, std::ios::app);
    Write(a, i, absl::StrCat("line ", i, "\n"));
  }
  std::filesystem::remove(FindLogFiles(streams_[a].path).segments.at(0).path);
  EXPECT_THAT(All(), ElementsAre("line 4", "line 3", "line 2"));
}

TEST_F(LogSearchTest, AnAnswerReadsNoMoreThanItMay) {
  for (int i = 0; i < 3; ++i) {
    const auto one = Add(absl::StrCat("j-", i, "/worker-0"));
    std::string text;
    for (int k = 0; k < 100'000; ++k) absl::StrAppend(&text, "step ", k, "\n");
    Write(one, 1, text);
  }
  Write(0, 2, "needle\n");
  most_bytes_ = 1 << 20;
  request_.pattern = "needle";
  const auto reply = Ask();
  ASSERT_TRUE(reply.ok());
  EXPECT_THAT(Texts(*reply), ElementsAre("needle"));
  EXPECT_NE(reply->next, "");
  EXPECT_LT(reply->read_bytes, most_bytes_ + (300u << 10));
  EXPECT_THAT(All(), ElementsAre("needle"));
  EXPECT_GT(answers_, 2);
}

TEST_F(LogSearchTest, WhoHasGoneIsNotSearchedFor) {
  Write(Add("j-a/worker-0"), 1, "a\n");
  cancelled_ = true;
  EXPECT_TRUE(absl::IsCancelled(Ask().status()));
}

TEST_F(LogSearchTest, WhoGoesInTheMiddleIsNotSearchedForAnyLonger) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "a line\n";
  Write(Add("j-a/worker-0"), 1, lines);
  request_.pattern = "nothing";
  int looks = 0;
  const auto reply = SearchStreams(
      streams_, request_, [&looks] { return ++looks > 1; }, most_bytes_);
  EXPECT_TRUE(absl::IsCancelled(reply.status())) << reply.status();
}

TEST_F(LogSearchTest, APatternThatTakesMuchMemoryIsRefused) {
  for (int i = 0; i < 100; ++i) request_.pattern += "\\pL{900}";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask().status()));
}

TEST_F(LogSearchTest, AFaultIsNamed) {
  request_.pattern = "(";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask().status()));
  EXPECT_THAT(std::string(Ask().status().message()), HasSubstr("pattern: missing )"));
  request_.pattern = std::string(5000, 'a');
  EXPECT_TRUE(absl::IsInvalidArgument(Ask().status()));
  request_.pattern = "";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask("nonsense").status()));
}

TEST_F(LogSearchTest, StreamsOfAJobAreThoseThatCanHaveSuchLines) {
  JobRow job;
  job.id = "j-a";
  for (int i = 0; i < 2; ++i) {
    job.tasks.push_back({.type = "worker", .index = i});
    job.tasks.back().attempts.push_back({.number = 1,
                                         .started_us = kBegin,
                                         .ended_us = kBegin + kSecond,
                                         .stdout_end = 5,
                                         .stderr_end = i == 0 ? 5u : 0u});
    job.tasks.back().attempts.push_back({.number = 2, .started_us = kBegin + kSecond});
    job.tasks.back().attempts.push_back({.number = 3});
  }
  const auto names = [&](int task) {
    std::vector<SearchedStream> streams;
    AddSearchedStreams(job, task, folder_, request_, &streams);
    std::vector<std::string> names;
    for (const auto& one : streams) {
      names.push_back(absl::StrCat(one.task, ".", one.attempt,
                                   one.stream == msg::LogStream::Stderr ? " err" : ""));
    }
    return names;
  };
  EXPECT_THAT(names(1), ElementsAre("j-a/worker-1.1", "j-a/worker-1.2", "j-a/worker-1.2 err"));
  EXPECT_THAT(names(-1), SizeIs(7));
  request_.errors_only = true;
  EXPECT_THAT(names(0), ElementsAre("j-a/worker-0.1 err", "j-a/worker-0.2 err"));
  request_.since_us = kBegin + 5 * kSecond;
  EXPECT_THAT(names(0), ElementsAre("j-a/worker-0.2 err"));
  job.tasks.clear();
  EXPECT_THAT(names(-1), IsEmpty());
}

}  // namespace
}  // namespace launcher
