// Tests answers to queries about files that are read while a caller waits: how they are split into
// parts, and what happens if the caller is slow or leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bus/call/reply_stream.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/answer/importance_answer.h"
#include "datamanager/answer/run_answers.h"
#include "datamanager/answer/scalar_answer.h"
#include "datamanager/answer/scalar_messages.h"
#include "datamanager/answer/value_answer.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/brief/run_lineage.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/fixtures/fake_run_source.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Need = RunSource::Need;

constexpr const char* kFile = "/events.out.tfevents.1.host";

std::string Scalar(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
std::string EventRecord(std::int64_t step, int field, std::string_view content) {
  std::string record;
  eventlog::AppendRecord(pb::Double(1, 7) + pb::Number(2, static_cast<std::uint64_t>(step)) +
                             pb::Bytes(field, content),
                         &record);
  return record;
}
std::string Value(std::int64_t step, const std::string& tag, const std::string& fields) {
  return EventRecord(step, 5, pb::Bytes(1, pb::Bytes(1, tag) + fields));
}
std::string Metadata(const std::string& plugin, const std::string& content = "") {
  return pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, plugin) + pb::Bytes(2, content)));
}
std::string Text(std::int64_t step, const std::string& text) {
  return Value(step, "note",
               Metadata("text") + pb::Bytes(8, pb::Number(1, 7) + pb::Bytes(8, text)));
}
std::string Image(std::int64_t step, const std::string& image) {
  return Value(step, "input",
               pb::Bytes(4, pb::Number(1, 2) + pb::Number(2, 3) + pb::Bytes(4, image)));
}

class AnswersTest : public ::testing::Test {
 protected:
  // Returns all parts of the answer, and reads files when it needs them. Stops at an error.
  template <typename Reply>
  std::vector<Reply> Parts(absl::StatusOr<std::unique_ptr<AnswerMaker<Reply>>> maker) {
    std::vector<Reply> parts;
    error_ = maker.status();
    while (error_.ok()) {
      auto part = (*maker)->Next();
      if (absl::IsUnavailable(part.status())) {
        bool ready = false;
        if ((*maker)->OnReady([&ready] { ready = true; }) && source_.ReadWhatIsWanted()) {
          EXPECT_TRUE(ready);
          continue;
        }
      }
      error_ = part.status();
      if (!part.ok()) break;
      parts.push_back(std::move(part->reply));
      if (part->last) break;
    }
    return parts;
  }
  template <typename Reply>
  Reply Only(absl::StatusOr<std::unique_ptr<AnswerMaker<Reply>>> maker) {
    std::vector<Reply> parts = Parts<Reply>(std::move(maker));
    EXPECT_TRUE(error_.ok()) << error_;
    EXPECT_EQ(parts.size(), 1u);
    return parts.empty() ? Reply() : std::move(parts.front());
  }
  std::vector<msg::ReadScalarsReplyT> Scalars(const msg::ReadScalarsRequestT& request) {
    return Parts(MakeScalarAnswer(request, &source_));
  }
  // Returns "run tag: steps" for each series, with its parts joined.
  std::vector<std::string> Series(const msg::ReadScalarsRequestT& request) {
    std::vector<std::string> series;
    for (const auto& part : Scalars(request)) {
      for (const auto& one : part.series) {
        const std::string name = one->run + " " + one->tag + ":";
        if (series.empty() || !series.back().starts_with(name)) series.push_back(name);
        for (const std::int64_t step : one->steps) series.back() += " " + std::to_string(step);
      }
    }
    return series;
  }
  static msg::ReadScalarsRequestT Selecting(const std::function<void(msg::SelectionT*)>& select) {
    msg::ReadScalarsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    select(request.selection.get());
    return request;
  }

  FakeRunSource source_;
  absl::Status error_;
};

class ScalarAnswerTest : public AnswersTest {
 protected:
  ScalarAnswerTest() {
    source_.Append(std::string("a") + kFile,
                   Scalar(1, "loss", 0.5) + Scalar(2, "loss", 0.25) + Scalar(2, "speed", 7));
    source_.Append(std::string("b/c") + kFile, Scalar(5, "loss", 3));
    source_.Scan();
  }
};

TEST_F(ScalarAnswerTest, AllSeriesOfAllRuns) {
  EXPECT_THAT(Series({}), ElementsAre("a loss: 1 2", "a speed: 2", "b/c loss: 5"));
  const auto parts = Scalars({});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].total_series, 3u);
  const msg::ScalarsReplyT& loss = *parts[0].series[0];
  EXPECT_THAT(loss.values, ElementsAre(0.5, 0.25));
  EXPECT_THAT(loss.wall_times, ElementsAre(101, 102));
  EXPECT_EQ(loss.total_points, 2u);
  EXPECT_EQ(loss.kept_points, 2u);
  EXPECT_EQ(loss.plugin, "scalars");
  EXPECT_FALSE(loss.more);
  EXPECT_FALSE(loss.incomplete);
}

TEST_F(ScalarAnswerTest, NamesPatternsAndStepsSelect) {
  EXPECT_THAT(Series(Selecting([](auto* s) { s->runs = {"b"}; })), ElementsAre("b/c loss: 5"));
  EXPECT_THAT(Series(Selecting([](auto* s) { s->run_pattern = "^a$"; })),
              ElementsAre("a loss: 1 2", "a speed: 2"));
  EXPECT_THAT(Series(Selecting([](auto* s) { s->tag_pattern = "sp"; })), ElementsAre("a speed: 2"));
  EXPECT_THAT(Series(Selecting([](auto* s) { s->first_step = 2; })),
              ElementsAre("a loss: 2", "a speed: 2", "b/c loss: 5"));
  Scalars(Selecting([](auto* s) { s->runs = {"x"}; }));
  EXPECT_TRUE(absl::IsNotFound(error_)) << error_;
  Scalars(Selecting([](auto* s) { s->tags = {"x"}; }));
  EXPECT_TRUE(absl::IsNotFound(error_)) << error_;
  Scalars(Selecting([](auto* s) { s->tag_pattern = "("; }));
  EXPECT_TRUE(absl::IsInvalidArgument(error_)) << error_;
  Scalars(Selecting([](auto* s) { s->overlap = static_cast<msg::Overlap>(99); }));
  EXPECT_TRUE(absl::IsInvalidArgument(error_)) << error_;
}

TEST_F(ScalarAnswerTest, ARunThatAQueryCannotDecideOnIsCountedNotRead) {
  source_.ReadFiles("a", Need::kCounts);
  auto request = Selecting([](auto* s) { s->query = "last:loss < 1"; });
  EXPECT_THAT(Series(request), ElementsAre("a loss: 1 2", "a speed: 2"));
  EXPECT_THAT(source_.wanted(), ElementsAre("a"));
  EXPECT_EQ(Scalars(request)[0].undecided_runs, 1u);
  source_.ReadFiles("b/c", Need::kCounts);
  EXPECT_EQ(Scalars(request)[0].undecided_runs, 0u);
}

TEST_F(ScalarAnswerTest, WhatIsOnlyWantedFromMemoryIsNotRead) {
  const auto request = Selecting([](auto* s) {
    s->runs = {"a"};
    s->cached_only = true;
  });
  Scalars(request);
  EXPECT_EQ(error_.code(), absl::StatusCode::kFailedPrecondition) << error_;
  EXPECT_THAT(source_.wanted(), IsEmpty());
  source_.ReadFiles("a", Need::kPoints);
  EXPECT_THAT(Series(request), ElementsAre("a loss: 1 2", "a speed: 2"));
}

TEST_F(ScalarAnswerTest, StepsThatWereWrittenAgainAreAsThePolicyHasThem) {
  source_.Append(std::string("r") + kFile,
                 Scalar(1, "x", 1) + Scalar(2, "x", 2) + Scalar(1, "x", 3) + Scalar(4, "x", 4));
  source_.Scan();
  const auto with = [&](msg::Overlap overlap) {
    return Series(Selecting([&](auto* s) {
      s->runs = {"r"};
      s->overlap = overlap;
    }));
  };
  EXPECT_THAT(with(msg::Overlap::Raw), ElementsAre("r x: 1 1 2 4"));
  EXPECT_THAT(with(msg::Overlap::LastWrite), ElementsAre("r x: 1 2 4"));
  EXPECT_THAT(with(msg::Overlap::RustServer), ElementsAre("r x: 1 4"));
  auto by_file = Selecting([](auto* s) { s->runs = {"r"}; });
  by_file.by_file_order = true;
  EXPECT_THAT(Series(by_file), ElementsAre("r x: 1 2 1 4"));
  by_file.columns = 5;
  Scalars(by_file);
  EXPECT_TRUE(absl::IsInvalidArgument(error_)) << error_;
}

TEST_F(ScalarAnswerTest, ALongSeriesComesInPartsAndAsFewColumns) {
  std::string records;
  for (int step = 0; step < 20'000; ++step) records += Scalar(step, "x", step == 7'777 ? 1e6 : 1);
  source_.Append(std::string("long") + kFile, records);
  source_.Scan();
  auto request = Selecting([](auto* s) { s->runs = {"long"}; });
  std::size_t points = 0;
  const auto parts = Scalars(request);
  EXPECT_EQ(parts.size(), 3u);
  for (const auto& part : parts) {
    ASSERT_EQ(part.series.size(), 1u);
    EXPECT_EQ(part.series[0]->first_point, points);
    EXPECT_LE(part.series[0]->steps.size(), kPartEntries);
    points += part.series[0]->steps.size();
    EXPECT_EQ(part.series[0]->more, points < 20'000);
  }
  EXPECT_EQ(points, 20'000u);
  request.columns = 10;
  const auto columns = Scalars(request);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_THAT(columns[0].series[0]->maxs, ::testing::Contains(1e6));
  EXPECT_THAT(columns[0].series[0]->steps.size(),
              ::testing::AllOf(::testing::Ge(5u), ::testing::Le(10u)));
  request.packed = true;
  const auto packed = Scalars(request);
  ASSERT_EQ(packed.size(), 1u);
  EXPECT_TRUE(packed[0].series[0]->steps.empty());
  ASSERT_NE(packed[0].series[0]->packed, nullptr);
  EXPECT_EQ(packed[0].series[0]->packed->columns, columns[0].series[0]->steps.size());
  request.columns = 0;
  Scalars(request);
  EXPECT_TRUE(absl::IsInvalidArgument(error_)) << error_;
}

TEST_F(ScalarAnswerTest, ARunThatIsBeingLoadedAnswersWhatItHas) {
  constexpr std::uint64_t kMany = 20'000;
  std::string records;
  for (std::uint64_t step = 0; step < kMany; ++step) {
    records += Scalar(static_cast<std::int64_t>(step), "x", 1);
  }
  source_.Append(std::string("r") + kFile, records + Scalar(3, "late", 1));
  source_.set_step_bytes(1);
  source_.Scan();
  source_.BeginToLoad("r");
  auto request = Selecting([](auto* s) {
    s->runs = {"r"};
    s->cached_only = true;
  });
  std::uint64_t points = 0;
  const auto parts = Scalars(request);
  ASSERT_TRUE(error_.ok()) << error_;
  for (const auto& part : parts) {
    for (const auto& series : part.series) {
      EXPECT_EQ(series->tag, "x");
      EXPECT_TRUE(series->incomplete);
      points += series->steps.size();
    }
  }
  EXPECT_GT(points, 0u);
  EXPECT_LT(points, kMany);
  // A tag that is missing now may still be read, so the error is not NotFound.
  request.selection->tags = {"late"};
  Scalars(request);
  EXPECT_EQ(error_.code(), absl::StatusCode::kFailedPrecondition) << error_;
  EXPECT_THAT(source_.wanted(), IsEmpty());
  request.selection->cached_only = false;
  EXPECT_THAT(Series(request), ElementsAre("r late: 3"));
  request.selection->tags = {"never"};
  Scalars(request);
  EXPECT_TRUE(absl::IsNotFound(error_)) << error_;
  request.selection->tags = {"x"};
  EXPECT_FALSE(Scalars(request).at(0).series.at(0)->incomplete);
}

TEST_F(ScalarAnswerTest, SeriesOfARunWhoseTagsWereFoundInPartAreIncomplete) {
  std::string records;
  for (int step = 0; step < 20'000; ++step) records += Scalar(step, "x", 1);
  source_.Append(std::string("r") + kFile, records + Scalar(3, "late", 1));
  source_.Append(std::string("z") + kFile, Scalar(1, "x", 1));
  source_.set_step_bytes(1);
  source_.Scan();
  source_.BeginToLoad("r");
  auto request = Selecting([](auto* s) { s->runs = {"r", "z"}; });
  request.columns = 10;
  auto maker = MakeScalarAnswer(request, &source_);
  ASSERT_TRUE(maker.ok());
  // The maker searches its tags; the other run has not been read, so the maker waits for it.
  ASSERT_TRUE(absl::IsUnavailable((*maker)->Next().status()));
  ASSERT_TRUE((*maker)->OnReady([] {}));
  source_.ReadFiles("r", Need::kPoints);
  source_.ReadFiles("z", Need::kPoints);
  const auto part = (*maker)->Next();
  ASSERT_TRUE(part.ok()) << part.status();
  ASSERT_EQ(part->reply.series.size(), 2u);
  EXPECT_EQ(part->reply.series[0]->run, "r");
  EXPECT_EQ(part->reply.series[0]->total_points, 20'000u);
  EXPECT_TRUE(part->reply.series[0]->incomplete) << "a tag is missing";
  EXPECT_FALSE(part->reply.series[1]->incomplete);
}

TEST_F(ScalarAnswerTest, ALongSeriesOfARunThatIsBeingLoadedIsWaitedForAsEarlierStepsMayCome) {
  constexpr std::uint64_t kMany = 20'000;
  std::string records;
  for (std::uint64_t step = 0; step < kMany; ++step) {
    records += Scalar(static_cast<std::int64_t>(step) + 10, "x", 1);
  }
  source_.Append(std::string("r") + kFile, records + Scalar(3, "x", 1));
  source_.set_step_bytes(std::uint64_t{1} << 19);
  source_.Scan();
  source_.BeginToLoad("r");
  auto request = Selecting([](auto* s) { s->runs = {"r"}; });
  request.columns = 10;
  const auto columns = Scalars(request);
  ASSERT_EQ(columns.size(), 1u) << error_;
  EXPECT_TRUE(columns[0].series.at(0)->incomplete);
  ASSERT_GT(columns[0].series[0]->total_points, PointPages::kPagePoints);
  ASSERT_LT(columns[0].series[0]->total_points, kMany);
  EXPECT_THAT(source_.wanted(), IsEmpty());
  request.columns = 0;
  std::vector<std::int64_t> steps;
  for (const auto& part : Scalars(request)) {
    for (const auto& series : part.series) {
      steps.insert(steps.end(), series->steps.begin(), series->steps.end());
    }
  }
  ASSERT_TRUE(error_.ok()) << error_;
  EXPECT_EQ(steps.size(), kMany + 1);
  EXPECT_EQ(steps.front(), 3);
}

TEST_F(ScalarAnswerTest, WhatWasPurgedOfAPartOfTheSeriesIsPurgedOfAllOfIt) {
  constexpr int kMany = 20'000;
  std::string records = EventRecord(0, 3, "brain.Event:1");
  for (int step = 0; step < kMany; ++step) records += Scalar(step, "x", 1);
  source_.Append(std::string("r") + kFile, records + Scalar(10, "x", 2));
  source_.set_step_bytes(1);
  source_.Scan();
  // Afterwards the restart at the end is known, and points before it are read again after the
  // answer.
  source_.ReadFiles("r", Need::kCounts);
  source_.BeginToLoad("r");
  auto request = Selecting([](auto* s) {
    s->runs = {"r"};
    s->overlap = msg::Overlap::TensorBoardV1;
  });
  const auto part = Scalars(request);
  ASSERT_EQ(part.size(), 1u) << error_;
  EXPECT_TRUE(part[0].series.at(0)->incomplete);
  EXPECT_EQ(part[0].series[0]->kept_points, 10u);
  source_.ReadFiles("r", Need::kPoints);
  const auto all = Scalars(request);
  ASSERT_EQ(all.size(), 1u) << error_;
  EXPECT_FALSE(all[0].series.at(0)->incomplete);
  EXPECT_EQ(all[0].series[0]->kept_points, 11u);
}

TEST_F(ScalarAnswerTest, ARunThatGoesMeanwhileIsLeftOut) {
  source_.ReadFiles("a", Need::kPoints);
  source_.ReadFiles("b/c", Need::kCounts);
  auto maker = MakeScalarAnswer({}, &source_);
  ASSERT_TRUE(maker.ok());
  // The run's tags are known, but its points are not in memory yet.
  const auto first = (*maker)->Next();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->last);
  EXPECT_EQ(first->reply.series.size(), 2u);
  source_.Forget("b/c");
  const auto second = (*maker)->Next();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->last);
  EXPECT_THAT(second->reply.series, IsEmpty());
}

TEST_F(ScalarAnswerTest, ARunThatCannotBeReadCostsOnlyItselfAndSaysWhyToWhoNamesIt) {
  source_.Break("a", absl::DataLossError("cannot open a"));
  EXPECT_THAT(Series({}), ElementsAre("b/c loss: 5"));
  EXPECT_EQ(Scalars({}).at(0).undecided_runs, 1u);
  EXPECT_THAT(Series(Selecting([](auto* s) { s->tags = {"loss"}; })), ElementsAre("b/c loss: 5"));
  Series(Selecting([](auto* s) { s->runs = {"a"}; }));
  EXPECT_EQ(error_, absl::DataLossError("cannot open a"));
  Series(Selecting([](auto* s) {
    s->runs = {"a"};
    s->tags = {"loss"};
  }));
  EXPECT_EQ(error_, absl::DataLossError("cannot open a"));
}

TEST_F(AnswersTest, NobodyWaitsForTheFirstScan) {
  Scalars({});
  EXPECT_TRUE(absl::IsUnavailable(error_)) << error_;
}

class ValueAnswerTest : public AnswersTest {
 protected:
  void Write(const std::string& bytes) {
    source_.Append(std::string("r") + kFile, bytes);
    source_.Scan();
  }
  std::vector<msg::ReadValuesReplyT> Values(msg::ReadValuesRequestT request) {
    return Parts(MakeValueAnswer(request, &source_));
  }
};

TEST_F(ValueAnswerTest, ATagsValuesComeInTheOrderOfSteps) {
  Write(Text(3, "c") + Text(1, "a") + Text(2, "b") + Scalar(1, "loss", 1));
  const auto parts = Values({});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].run, "r");
  EXPECT_EQ(parts[0].tag, "note");
  EXPECT_EQ(parts[0].plugin, "text");
  EXPECT_EQ(parts[0].total, 3u);
  EXPECT_FALSE(parts[0].more);
  std::string texts;
  for (const auto& tensor : parts[0].tensors) {
    texts += std::to_string(tensor->step) + tensor->strings.at(0);
  }
  EXPECT_EQ(texts, "1a2b3c");
}

TEST_F(ValueAnswerTest, OnlySomeOfThem) {
  Write(Text(1, "a") + Text(2, "b") + Text(3, "c") + Text(4, "d"));
  const auto texts = [&](const std::function<void(msg::ReadValuesRequestT*)>& set) {
    msg::ReadValuesRequestT request;
    set(&request);
    std::string all;
    for (const auto& part : Values(std::move(request))) {
      for (const auto& tensor : part.tensors) all += tensor->strings.at(0);
    }
    return all;
  };
  EXPECT_EQ(texts([](auto* r) { r->last = 2; }), "cd");
  EXPECT_EQ(texts([](auto* r) { r->first_value = 1; }), "bcd");
  EXPECT_EQ(texts([](auto* r) { r->limit = 3; }), "abc");
  EXPECT_EQ(texts([](auto* r) {
              r->last = 3;
              r->first_value = 1;
              r->limit = 1;
            }),
            "c");
  EXPECT_EQ(texts([](auto* r) { r->first_value = 9; }), "");
  EXPECT_EQ(texts([](auto* r) {
              r->selection = std::make_unique<msg::SelectionT>();
              r->selection->first_step = 2;
              r->selection->last_step = 3;
            }),
            "bc");
}

TEST_F(ValueAnswerTest, ManyComeInParts) {
  std::string records;
  for (int step = 0; step < 20; ++step) records += Text(step, std::string(50'000, 'x'));
  Write(records + Image(1, "image"));
  const auto parts = Values({});
  std::size_t texts = 0;
  ASSERT_GT(parts.size(), 3u);
  EXPECT_EQ(parts[0].tag, "input");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].tag, "note");
    EXPECT_EQ(parts[i].first_value, texts);
    texts += parts[i].tensors.size();
    EXPECT_EQ(parts[i].more, texts < 20);
  }
  EXPECT_EQ(texts, 20u);
}

TEST_F(ValueAnswerTest, WhatIsNotThereAnyMoreIsCountedAndTheRestIsThere) {
  Write(Text(1, "first") + Text(2, "second"));
  source_.ReadFiles("r", Need::kPoints);
  // Overwrite the value unnoticed.
  const std::string path = source_.root() + "/r" + kFile;
  std::string content;
  {
    std::ifstream file(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  content.replace(content.find("first"), 5, "FIRST");
  std::ofstream(path, std::ios::binary) << content;
  const auto parts = Values({});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].refused, 1u);
  EXPECT_THAT(parts[0].why_refused, HasSubstr("step 1: "));
  ASSERT_EQ(parts[0].tensors.size(), 1u);
  EXPECT_EQ(parts[0].tensors[0]->strings[0], "second");
}

TEST_F(ValueAnswerTest, AnImageIsReadByItsPlace) {
  std::string image(600'000, 'x');
  image.replace(0, 8, "\x89PNG\r\n\x1a\n");
  Write(Image(4, image));
  const auto parts = Values({});
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].blobs.size(), 1u);
  EXPECT_EQ(parts[0].blobs[0]->content_type, "image/png");
  EXPECT_EQ(parts[0].blobs[0]->width, 3u);
  msg::ReadBlobRequestT request;
  request.run = "r";
  request.blob = std::make_unique<msg::BlobT>(*parts[0].blobs[0]);
  std::string bytes;
  for (const auto& part : Parts(MakeBlobAnswer(request, &source_))) {
    EXPECT_EQ(part.offset, bytes.size());
    EXPECT_LE(part.data.size(), kPartBytes);
    bytes.append(part.data.begin(), part.data.end());
  }
  EXPECT_TRUE(error_.ok()) << error_;
  EXPECT_EQ(bytes, image);
  request.blob->crc ^= 1;
  Parts(MakeBlobAnswer(request, &source_));
  EXPECT_TRUE(absl::IsDataLoss(error_)) << error_;
}

TEST_F(ValueAnswerTest, NoOtherFileIsReadThanThoseOfTheRun) {
  Write(Text(1, "a"));
  source_.Append("secret", "secret");
  for (const char* file : {"../secret", "/etc/passwd", "secret", ".", ""}) {
    msg::ReadBlobRequestT request;
    request.run = "r";
    request.blob = std::make_unique<msg::BlobT>();
    request.blob->file = file;
    Parts(MakeBlobAnswer(request, &source_));
    EXPECT_TRUE(absl::IsNotFound(error_) || absl::IsInvalidArgument(error_)) << file << error_;
  }
  Parts(MakeBlobAnswer({}, &source_));
  EXPECT_TRUE(absl::IsInvalidArgument(error_)) << error_;
}

TEST_F(ValueAnswerTest, ARunThatIsBeingLoadedAnswersWhatItHas) {
  std::string records = Text(1, "first");
  for (int step = 0; step < 20'000; ++step) records += Scalar(step, "x", 1);
  source_.set_step_bytes(1);
  Write(records + Text(2, "second"));
  source_.BeginToLoad("r");
  const auto part = Values({});
  ASSERT_EQ(part.size(), 1u) << error_;
  EXPECT_TRUE(part[0].incomplete);
  EXPECT_EQ(part[0].total, 1u);
  EXPECT_THAT(source_.wanted(), IsEmpty());
  source_.ReadFiles("r", Need::kPoints);
  const auto all = Values({});
  ASSERT_EQ(all.size(), 1u) << error_;
  EXPECT_FALSE(all[0].incomplete);
  EXPECT_EQ(all[0].total, 2u);
}

class RunAnswersTest : public AnswersTest {};

TEST_F(RunAnswersTest, FilesAreThereWithWhatIsWrongWithThem) {
  std::string bad = Scalar(2, "x", 1);
  bad.back() ^= 1;
  source_.Append(std::string("r") + kFile,
                 eventlog::RenderFileHeader(5) + Scalar(1, "x", 1) + bad + "tail");
  source_.Append("r/ms_output_1.pb", "");
  source_.Append("r/notes.txt", "");
  source_.Scan();
  const auto reply = Only(MakeFilesAnswer(
      [] {
        msg::FilesRequestT request;
        request.run = "r";
        return request;
      }(),
      &source_));
  ASSERT_EQ(reply.files.size(), 2u);
  const msg::RunFileT& events = *reply.files[0];
  EXPECT_EQ(events.name, kFile + 1);
  EXPECT_EQ(events.format, msg::FileFormat::TensorBoard);
  EXPECT_EQ(events.records, 2u);
  EXPECT_EQ(events.points, 1u);
  EXPECT_EQ(events.version, "brain.Event:2");
  EXPECT_EQ(events.create_us, 1'000'000);
  EXPECT_EQ(events.tail_bytes, 4u);
  EXPECT_EQ(events.rank, -1);
  EXPECT_FALSE(events.finished);
  ASSERT_EQ(events.faults.size(), 2u);
  EXPECT_EQ(events.faults[0]->kind, msg::FaultKind::BadPayload);
  EXPECT_EQ(events.faults[0]->count, 1u);
  EXPECT_FALSE(events.faults[0]->text.empty());
  EXPECT_EQ(events.faults[1]->kind, msg::FaultKind::UnfinishedTail);
  EXPECT_EQ(reply.files[1]->format, msg::FileFormat::MindSporeGraph);
  EXPECT_TRUE(reply.files[1]->finished);
}

TEST_F(RunAnswersTest, AFileIsAsLargeAsWhatWasReadOfIt) {
  const std::string point = Scalar(1, "x", 1);
  source_.Append(std::string("r") + kFile, point);
  source_.Scan();
  // The file grows, and is read before it is listed again.
  source_.Append(std::string("r") + kFile, point);
  source_.ReadFiles("r", RunSource::Need::kCounts);
  msg::FilesRequestT request;
  request.run = "r";
  const auto reply = Only(MakeFilesAnswer(request, &source_));
  ASSERT_EQ(reply.files.size(), 1u);
  EXPECT_EQ(reply.files[0]->records, 2u);
  EXPECT_EQ(reply.files[0]->read_bytes, 2 * point.size());
  EXPECT_EQ(reply.files[0]->bytes, 2 * point.size());
}

TEST_F(RunAnswersTest, FilesComeInPages) {
  for (const char* number : {"1", "2", "3"}) {
    source_.Append("r/events.out.tfevents." + std::string(number) + ".x", Scalar(1, "x", 1));
  }
  source_.Scan();
  msg::FilesRequestT request;
  request.run = "r";
  request.limit = 2;
  const auto first = Only(MakeFilesAnswer(request, &source_));
  EXPECT_EQ(first.files.size(), 2u);
  EXPECT_EQ(first.next, "events.out.tfevents.2.x");
  request.after = first.next;
  const auto second = Only(MakeFilesAnswer(request, &source_));
  ASSERT_EQ(second.files.size(), 1u);
  EXPECT_EQ(second.files[0]->name, "events.out.tfevents.3.x");
  EXPECT_EQ(second.next, "");
}

TEST_F(RunAnswersTest, HyperparametersOfEveryRunThatHasSome) {
  const std::string rate = pb::Bytes(1, pb::Bytes(1, "rate") + pb::Bytes(2, pb::Double(2, 0.5)));
  source_.Append(std::string("a") + kFile,
                 Value(0, "_hparams_/session_start_info", Metadata("hparams", pb::Bytes(3, rate))) +
                     Scalar(1, "loss", 0.25));
  source_.Append(std::string("b") + kFile, Scalar(1, "loss", 3));
  source_.Append(std::string("c") + kFile, Scalar(1, "loss", 4));
  source_.Scan();
  auto config = RunConfig::Parse(R"({"depth": 3})");
  ASSERT_TRUE(source_.item("b")
                  .Set(kConfigKey, std::make_shared<const RunConfig>(*std::move(config)))
                  .ok());
  auto labels = std::make_shared<RunLabels>();
  labels->group = "sweep";
  ASSERT_TRUE(source_.item("b").Set<RunLabels>(kTrialKey, labels).ok());
  const auto reply = Only(MakeHParamsAnswer({}, &source_));
  ASSERT_EQ(reply.runs.size(), 3u);
  EXPECT_EQ(reply.runs[0]->run, "a");
  EXPECT_EQ(reply.runs[0]->source, "hparams");
  EXPECT_EQ(reply.runs[0]->hparams.at(0)->value, "0.5");
  EXPECT_EQ(reply.runs[0]->metrics.at(0)->key, "loss");
  EXPECT_EQ(reply.runs[1]->source, "trial");
  EXPECT_EQ(reply.runs[1]->hparams.at(0)->value, "3");
  EXPECT_EQ(reply.runs[1]->group, "sweep");
  EXPECT_EQ(reply.runs[2]->source, "");

  source_.Break("b", absl::DataLossError("cannot open b"));
  const auto others = Only(MakeHParamsAnswer({}, &source_));
  ASSERT_EQ(others.runs.size(), 3u);
  EXPECT_EQ(others.runs[1]->run, "b");
  EXPECT_EQ(others.runs[1]->hparams.at(0)->value, "3") << "it stands beside the events";

  msg::HParamsRequestT request;
  request.limit = 2;
  const auto page = Only(MakeHParamsAnswer(request, &source_));
  EXPECT_EQ(page.runs.size(), 2u);
  EXPECT_EQ(page.next, "b");
  // The next page also works if that run has been removed meanwhile.
  source_.Forget("b");
  request.after = page.next;
  const auto rest = Only(MakeHParamsAnswer(request, &source_));
  ASSERT_EQ(rest.runs.size(), 1u);
  EXPECT_EQ(rest.runs[0]->run, "c");
  EXPECT_EQ(rest.next, "");
}

// Runs "r00", "r01", ...: the nearer a run's rate is to 0.1, the smaller is its loss.
TEST_F(RunAnswersTest, ImportanceSaysWhichParametersHaveToBeRight) {
  constexpr int kRuns = 20;
  const auto name_of = [](int i) { return absl::StrCat("r", i / 10, i % 10); };
  for (int i = 0; i < kRuns; ++i) {
    const double loss = std::abs(i - 7) + 1;
    source_.Append(name_of(i) + kFile, Scalar(1, "loss", loss) + Scalar(2, "loss", 2 * loss));
  }
  source_.Append(std::string("bare") + kFile, Scalar(1, "loss", 1));
  source_.Scan();
  for (int i = 0; i < kRuns; ++i) {
    auto config = RunConfig::Parse(absl::StrCat(R"({"rate": )", i / 70.0, R"(, "depth": )", i % 3,
                                                R"(, "optimizer": ")", i % 2 == 0 ? "a" : "b",
                                                R"(", "epochs": 9})"));
    ASSERT_TRUE(source_.item(name_of(i))
                    .Set(kConfigKey, std::make_shared<const RunConfig>(*std::move(config)))
                    .ok());
  }
  msg::ImportanceRequestT request;
  request.value = "min:loss";
  const auto reply = Only(MakeImportanceAnswer(request, &source_));
  EXPECT_EQ(reply.runs, kRuns + 1u);
  EXPECT_EQ(reply.counted, kRuns) << "one has no parameters";
  EXPECT_EQ(reply.reason, "");
  ASSERT_EQ(reply.importance.size(), 3u) << "one parameter is the same in all";
  EXPECT_EQ(reply.importance[0]->parameter, "rate");
  EXPECT_GT(reply.importance[0]->importance, 0.5);

  // The reason explains why there is no importance.
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = {"r03", "r04", "bare"};
  const auto few = Only(MakeImportanceAnswer(request, &source_));
  EXPECT_THAT(few.importance, IsEmpty());
  EXPECT_EQ(few.reason,
            "it takes 10 runs that have a finite min:loss and parameters, and there are 2 among 3");
  request.selection->runs.clear();
  request.value = "accuracy";
  EXPECT_EQ(
      Only(MakeImportanceAnswer(request, &source_)).reason,
      "it takes 10 runs that have a finite accuracy and parameters, and there are 0 among 21");
  request.value = "max:";
  EXPECT_TRUE(absl::IsInvalidArgument(MakeImportanceAnswer(request, &source_).status()));
  request.value = "loss";
  request.selection->runs = {"nobody"};
  EXPECT_TRUE(absl::IsNotFound(MakeImportanceAnswer(request, &source_).status()));

  // Runs that were removed or cannot be read do not count.
  request.selection = nullptr;
  auto maker = MakeImportanceAnswer(request, &source_);
  source_.Forget("r05");
  source_.Break("r06", absl::DataLossError("cannot open r06"));
  EXPECT_EQ(Only(std::move(maker)).counted, kRuns - 2u);
}

TEST_F(RunAnswersTest, ParametersAreThoseOfTheCommandAndOfTheRunBelowToo) {
  const auto start = [](const std::string& name) {
    const std::string entry = pb::Bytes(1, pb::Bytes(1, name) + pb::Bytes(2, pb::Double(2, 0.5)));
    return Value(0, "_hparams_/session_start_info", Metadata("hparams", pb::Bytes(3, entry)));
  };
  source_.Append(std::string("a") + kFile, Scalar(1, "loss", 1));
  source_.Append(std::string("a/1579833032.1") + kFile, start("rate"));
  source_.Append(std::string("sweep") + kFile, Scalar(1, "loss", 1));
  for (const char* run : {"sweep/a", "sweep/b"})
    source_.Append(run + std::string(kFile), start(run));
  source_.Scan();
  auto labels = ParseRunLabels(
      R"({"argv":["t.py","--lr","0.1"],"git":{"commit":"abc","dirty":true},"trial":"t-abcde"})");
  ASSERT_TRUE(labels.ok()) << labels.status();
  ASSERT_TRUE(
      source_.item("a").Set(kTrialKey, std::make_shared<const RunLabels>(*std::move(labels))).ok());
  const auto reply = Only(MakeHParamsAnswer({}, &source_));
  ASSERT_EQ(reply.runs.size(), 5u);
  std::string text;
  for (const auto& pair : reply.runs[0]->hparams) text += pair->key + "=" + pair->value + ";";
  EXPECT_EQ(text, R"(command="t.py";commit="abc-dirty";lr=0.1;rate=0.5;)");
  EXPECT_EQ(reply.runs[0]->source, "trial");
  EXPECT_EQ(reply.runs[2]->run, "sweep");
  EXPECT_THAT(reply.runs[2]->hparams, IsEmpty()) << "which of them would it be?";
}

TEST_F(RunAnswersTest, LineageNeedsNoFilesReadAndSaysWhyItIsMissing) {
  for (const char* run : {"a", "b", "c"}) source_.Append(run + std::string(kFile), "");
  source_.Scan();
  auto lineage = std::make_shared<RunLineage>();
  lineage->train = "{}";
  ASSERT_TRUE(source_.item("a").Set<RunLineage>(BriefCache::kLineage, lineage).ok());
  source_.item("b").Fail(BriefCache::kLineage, absl::UnavailableError("no descriptor"));
  const auto reply = Only(MakeLineageAnswer({}, &source_));
  ASSERT_EQ(reply.runs.size(), 3u);
  EXPECT_EQ(reply.runs[0]->train, "{}");
  EXPECT_EQ(reply.runs[0]->error, "");
  EXPECT_EQ(reply.runs[1]->error, "no descriptor");
  EXPECT_EQ(reply.runs[2]->error, "");
  EXPECT_THAT(source_.wanted(), IsEmpty());
}

TEST_F(RunAnswersTest, LineageComesInPages) {
  for (const char* run : {"a", "b", "c"}) source_.Append(run + std::string(kFile), "");
  source_.Scan();
  msg::LineageRequestT request;
  request.limit = 2;
  const auto first = Only(MakeLineageAnswer(request, &source_));
  ASSERT_EQ(first.runs.size(), 2u);
  EXPECT_EQ(first.runs[1]->run, "b");
  EXPECT_EQ(first.next, "b");
  // The next page also works if that run has been removed meanwhile.
  source_.Forget("b");
  request.after = first.next;
  const auto second = Only(MakeLineageAnswer(request, &source_));
  ASSERT_EQ(second.runs.size(), 1u);
  EXPECT_EQ(second.runs[0]->run, "c");
  EXPECT_EQ(second.next, "");
}

TEST_F(RunAnswersTest, APageOfLineageHasSoManyBytes) {
  constexpr std::size_t kRuns = 5;
  const std::string json(std::size_t{3} << 20, ' ');
  for (std::size_t i = 0; i < kRuns; ++i) {
    source_.Append(absl::StrCat("run", i, kFile), "");
  }
  source_.Scan();
  for (std::size_t i = 0; i < kRuns; ++i) {
    auto lineage = std::make_shared<RunLineage>();
    lineage->dataset = json;
    ASSERT_TRUE(
        source_.item(absl::StrCat("run", i)).Set<RunLineage>(BriefCache::kLineage, lineage).ok());
  }
  std::vector<std::string> runs;
  int pages = 0;
  msg::LineageRequestT request;
  do {
    const auto reply = Only(MakeLineageAnswer(request, &source_));
    ASSERT_FALSE(reply.runs.empty());
    for (const auto& run : reply.runs) runs.push_back(run->run);
    request.after = reply.next;
    ++pages;
  } while (!request.after.empty());
  EXPECT_THAT(runs, ElementsAre("run0", "run1", "run2", "run3", "run4"));
  EXPECT_GT(pages, 1);
}

msg::ReadGraphRequestT Graph(const std::string& tag = "") {
  msg::ReadGraphRequestT request;
  request.run = "r";
  request.tag = tag;
  return request;
}

TEST_F(RunAnswersTest, TheNewestGraphOfARun) {
  const auto node = [](std::string_view name) {
    return pb::Bytes(1, pb::Bytes(1, name) + pb::Bytes(2, "Op"));
  };
  source_.Append(std::string("r") + kFile, EventRecord(0, 4, node("old")));
  source_.Append(std::string("r") + kFile, EventRecord(1, 4, node("new") + node("net/x")));
  source_.Scan();
  const auto reply = Only(MakeGraphAnswer(Graph(), &source_));
  EXPECT_EQ(reply.tag, "__run_graph__");
  EXPECT_EQ(reply.format, msg::FileFormat::TensorBoard);
  ASSERT_EQ(reply.nodes.size(), 2u);
  EXPECT_EQ(reply.nodes[0]->name, "net");
  EXPECT_EQ(reply.nodes[0]->nodes, 1u);
  EXPECT_EQ(reply.nodes[1]->name, "new");
  // The complete graph can be read.
  msg::ReadBlobRequestT blob;
  blob.run = "r";
  blob.blob = std::make_unique<msg::BlobT>(*reply.blob);
  const auto parts = Parts(MakeBlobAnswer(blob, &source_));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(std::string(parts[0].data.begin(), parts[0].data.end()), node("new") + node("net/x"));
}

TEST_F(RunAnswersTest, TheGraphInAMetaGraphCountsIfThereIsNoOther) {
  const auto node = [](std::string_view name) {
    return pb::Bytes(1, pb::Bytes(1, name) + pb::Bytes(2, "Op"));
  };
  const auto meta = EventRecord(0, 9, pb::Bytes(1, "info") + pb::Bytes(2, node("in meta")));
  source_.Append(std::string("r") + kFile, meta);
  source_.Append(std::string("both") + kFile, EventRecord(0, 4, node("itself")) + meta);
  // A meta graph without a graph, and a damaged one: the earlier graph stays.
  source_.Append(std::string("r") + kFile,
                 EventRecord(1, 9, pb::Bytes(1, "info")) + EventRecord(1, 9, "\x12\x7f"));
  source_.Scan();
  for (const auto& [run, name] : {std::pair("r", "in meta"), std::pair("both", "itself")}) {
    msg::ReadGraphRequestT request = Graph();
    request.run = run;
    const auto reply = Only(MakeGraphAnswer(request, &source_));
    ASSERT_EQ(reply.nodes.size(), 1u) << run;
    EXPECT_EQ(reply.nodes[0]->name, name);
    EXPECT_EQ(reply.blob->length, node(name).size());
  }
}

TEST_F(RunAnswersTest, AGraphMayBeAFileOfItsOwn) {
  source_.Append("r/ms_output.pb",
                 pb::Bytes(4, pb::Bytes(1, pb::Bytes(2, "1") + pb::Bytes(3, "Conv2D"))));
  source_.Scan();
  for (const char* tag : {"", "ms_output.pb"}) {
    const auto reply = Only(MakeGraphAnswer(Graph(tag), &source_));
    EXPECT_EQ(reply.tag, "ms_output.pb");
    EXPECT_EQ(reply.format, msg::FileFormat::MindSporeGraph);
    ASSERT_EQ(reply.nodes.size(), 1u);
    EXPECT_EQ(reply.nodes[0]->op, "Conv2D");
  }
  for (const char* tag : {"__run_graph__", "../ms_output.pb", "other.pb"}) {
    Parts(MakeGraphAnswer(Graph(tag), &source_));
    EXPECT_TRUE(absl::IsNotFound(error_)) << tag << error_;
  }
}

// A thread pool that runs its tasks when the test says so.
class HandPool : public runtime::ThreadPool {
 public:
  absl::Status Submit(std::function<absl::Status()> task) override {
    if (full) return absl::ResourceExhaustedError("the pool is full");
    tasks_.push_back(std::move(task));
    return absl::OkStatus();
  }
  Stats GetStats() const override { return {}; }
  void RunAll() {
    while (!tasks_.empty()) {
      for (const auto& task : std::exchange(tasks_, {})) EXPECT_TRUE(task().ok());
    }
  }
  bool full = false;

 private:
  std::vector<std::function<absl::Status()>> tasks_;
};

struct Number {
  int value = 0;
};

class Caller : public bus::ReplyStream<Number> {
 public:
  absl::Status SendPart(Number part) override {
    if (gone) return absl::CancelledError("gone");
    if (room == 0) return absl::ResourceExhaustedError("too much waits");
    --room;
    got.push_back(part.value);
    return absl::OkStatus();
  }
  void WhenWritable(std::function<void()> writable) override { writable_ = std::move(writable); }
  void Finish(absl::StatusOr<Number> reply) override {
    if (!finished.empty()) return;
    finished = reply.ok() ? "ok " + std::to_string(reply->value) : reply.status().ToString();
  }
  bool cancelled() const override { return gone; }
  void OnCancel(std::function<void()>) override {}
  void MakeRoom(int parts) {
    room = parts;
    if (auto writable = std::exchange(writable_, nullptr)) writable();
  }

  int room = 0;
  bool gone = false;
  std::vector<int> got;
  std::string finished;

 private:
  std::function<void()> writable_;
};

// Counts to five; the number `wait_at` is not available at first.
class Counting : public AnswerMaker<Number> {
 public:
  explicit Counting(std::function<void()>* ready, int wait_at = 0)
      : ready_(ready), wait_at_(wait_at) {}
  absl::StatusOr<Part> Next() override {
    if (next_ == wait_at_) {
      wait_at_ = 0;
      waits_ = true;
      return absl::UnavailableError("not read yet");
    }
    const int value = next_++;
    return Part{{value}, value == 5};
  }
  bool OnReady(std::function<void()> ready) override {
    if (!waits_ || ready_ == nullptr) return false;
    *ready_ = std::move(ready);
    return true;
  }

 private:
  std::function<void()>* const ready_;
  int wait_at_;
  bool waits_ = false;
  int next_ = 1;
};

class AnswerTest : public ::testing::Test {
 protected:
  void Start(int wait_at = 0, bool waits = true) {
    StartAnswer<Number>(std::make_unique<Counting>(waits ? &ready_ : nullptr, wait_at), caller_,
                        &pool_);
  }
  const std::shared_ptr<Caller> caller_ = std::make_shared<Caller>();
  HandPool pool_;
  std::function<void()> ready_;
};

TEST_F(AnswerTest, EveryPartComesOnceHoweverSlowTheCaller) {
  caller_->room = 1;
  Start();
  EXPECT_THAT(caller_->got, ElementsAre(1));
  for (const int room : {1, 0, 2}) {
    caller_->MakeRoom(room);
    pool_.RunAll();
  }
  EXPECT_THAT(caller_->got, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(caller_->finished, "ok 5");
}

TEST_F(AnswerTest, WhatIsNotReadYetIsWaitedForByNoThread) {
  caller_->room = 10;
  Start(/*wait_at=*/3);
  EXPECT_THAT(caller_->got, ElementsAre(1, 2));
  EXPECT_EQ(caller_->finished, "");
  ready_();
  // Calling ready_() does not continue on the caller's thread.
  EXPECT_THAT(caller_->got, ElementsAre(1, 2));
  pool_.RunAll();
  EXPECT_EQ(caller_->finished, "ok 5");
}

TEST_F(AnswerTest, WhatNobodyReadsIsSaidAtOnce) {
  caller_->room = 10;
  Start(/*wait_at=*/3, /*waits=*/false);
  EXPECT_THAT(caller_->finished, HasSubstr("not read yet"));
}

TEST_F(AnswerTest, NothingIsMadeForACallerWhoHasGone) {
  caller_->room = 1;
  Start();
  caller_->gone = true;
  caller_->MakeRoom(10);
  pool_.RunAll();
  EXPECT_THAT(caller_->got, ElementsAre(1));
}

TEST_F(AnswerTest, AFullPoolEndsIt) {
  caller_->room = 1;
  Start();
  pool_.full = true;
  caller_->MakeRoom(10);
  EXPECT_THAT(caller_->finished, HasSubstr("the pool is full"));
}

}  // namespace
}  // namespace datamanager
