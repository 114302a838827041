#include "datamanager/tensorboard/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_updaters.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "eventlog/event.h"
#include "eventlog/hparams_content.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"
#include "protozero/pbf_reader.hpp"

namespace datamanager::tensorboard {
namespace {

namespace pb = eventlog::testing;
using eventlog::HParamsContent;
using protozero::pbf_reader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr std::string_view kStart = eventlog::kHParamsStartTag;
constexpr std::string_view kEnd = eventlog::kHParamsEndTag;
constexpr std::string_view kService = "/tensorboard.data.TensorBoardDataProvider/";

// --- Files ---

std::string Scalar(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
std::string Event(std::int64_t step, const std::string& field) {
  std::string record;
  eventlog::AppendRecord(pb::Double(1, 100.0 + static_cast<double>(step)) +
                             pb::Number(2, static_cast<std::uint64_t>(step)) + field,
                         &record);
  return record;
}
std::string Value(std::int64_t step, const std::string& tag, const std::string& fields) {
  return Event(step, pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, tag) + fields)));
}
std::string Metadata(const std::string& plugin, const std::string& content = "") {
  return pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, plugin) + pb::Bytes(2, content)));
}
// Returns a one-dimensional tensor of DT_STRING.
std::string Strings(const std::vector<std::string>& strings) {
  std::string tensor = pb::Number(1, 7) + pb::Bytes(2, pb::Bytes(2, pb::Number(1, strings.size())));
  for (const std::string& text : strings) tensor += pb::Bytes(8, text);
  return pb::Bytes(8, tensor);
}

// --- Answers ---

struct Series {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  std::vector<std::string> values;
  std::string entry;  // The entry of a list, in its encoded form.
};
using Runs = std::map<std::string, std::map<std::string, Series>>;

Series ReadSeries(pbf_reader reader) {
  Series series;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited):
        for (const auto step : reader.get_packed_int64()) series.steps.push_back(step);
        break;
      case protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited):
        for (const auto time : reader.get_packed_double()) series.wall_times.push_back(time);
        break;
      case protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited):
        series.values.push_back(reader.get_string());
        break;
      default:
        reader.skip();
    }
  }
  return series;
}

class ProviderTest : public ::testing::Test {
 protected:
  ProviderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "provider-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~ProviderTest() override { std::filesystem::remove_all(root_); }

  void Append(const std::string& run, const std::string& bytes,
              const std::string& file = "events.out.tfevents.1.host") {
    std::filesystem::create_directories(root_ + "/" + run);
    std::ofstream(root_ + "/" + run + "/" + file, std::ios::app | std::ios::binary) << bytes;
  }

  // Reads all files, and serves them.
  void Start(SampleCounts samples = {}, Overlap overlap = Overlap::kLastWrite,
             std::uint64_t most_answer_bytes = Provider::Options().most_answer_bytes) {
    catalog_ = RunCatalog::Create({.root = root_, .load_threads = 1}).value();
    AddUpdaters(catalog_.get());
    provider_ = Provider::Create({.catalog = catalog_.get(),
                                  .logdir = "runs",
                                  .overlap = overlap,
                                  .samples = std::move(samples),
                                  .list_patience = absl::ZeroDuration(),
                                  .read_patience = kLong,
                                  .most_answer_bytes = most_answer_bytes});
    RunTree::Options options;
    options.root = root_;
    tree_ = std::make_unique<RunTree>(options);
    Scan();
  }
  void Scan() {
    const RunTree::Delta delta = tree_->Rescan();
    catalog_->Found(delta, tree_->runs());
    ASSERT_TRUE(catalog_->AwaitLoaded(kLong));
  }

  GrpcAnswer Ask(std::string_view method, const std::string& message) {
    return provider_->Answer(absl::StrCat(std::string(kService), std::string(method)), message);
  }
  // Returns the message of an answer that consists of a single one.
  std::string MessageOf(std::string_view method, const std::string& message) {
    const GrpcAnswer answer = Ask(method, message);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto only = OnlyMessage(answer.frames);
    EXPECT_TRUE(only.ok()) << only.status();
    return only.ok() ? std::string(*only) : "";
  }
  static std::string Plugin(const std::string& name) { return pb::Bytes(2, pb::Bytes(1, name)); }
  static std::string Points(std::uint64_t count) { return pb::Bytes(4, pb::Number(1, count)); }

  Runs SeriesOf(std::string_view method, const std::string& message) {
    const std::string bytes = MessageOf(method, message);
    Runs runs;
    pbf_reader answer(bytes);
    while (answer.next(1)) {
      pbf_reader run = answer.get_message();
      std::string name;
      while (run.next()) {
        if (run.tag() == 1) {
          name = run.get_string();
          continue;
        }
        pbf_reader tag = run.get_message();
        tag.next(1);
        const std::string tag_name = tag.get_string();
        tag.next(2);
        const auto entry = tag.get_view();
        Series series;
        series.entry = std::string(entry.data(), entry.size());
        if (method.starts_with("Read")) series = ReadSeries(pbf_reader(entry));
        runs[name][tag_name] = series;
      }
    }
    return runs;
  }
  // Returns the values of scalars, which are packed floats.
  static std::vector<float> Floats(const Series& series) {
    std::vector<float> floats;
    for (const std::string& packed : series.values) {
      const std::size_t count = packed.size() / sizeof(float);
      floats.resize(count);
      std::memcpy(floats.data(), packed.data(), packed.size());
    }
    return floats;
  }

  std::string root_;
  std::unique_ptr<RunCatalog> catalog_;
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<RunTree> tree_;
};

TEST_F(ProviderTest, ListsRunsByTheirStart) {
  Append("late", Scalar(5, "loss", 1));
  Append("early", Scalar(1, "loss", 1));
  Append("header", eventlog::RenderFileHeader(1));
  Start();
  const std::vector<RunEntry> runs = {{"early", 101}, {"late", 105}};
  EXPECT_EQ(MessageOf("ListRuns", ""), RunsMessage(runs));
  EXPECT_EQ(MessageOf("GetExperiment", ""), ExperimentMessage("runs"));
  EXPECT_EQ(MessageOf("ListPlugins", ""), PluginsMessage({"scalars"}));
}

TEST_F(ProviderTest, FiltersByWholeNames) {
  Append("a", Scalar(1, "loss", 1) + Scalar(1, "loss2", 1));
  Append("blue", Scalar(1, "loss", 1));
  Start();
  EXPECT_THAT(SeriesOf("ListScalars", Plugin("scalars")), SizeIs(2));
  EXPECT_THAT(SeriesOf("ListScalars", Plugin("nobody")), IsEmpty());
  const auto filter = [](const std::string& runs, const std::string& tags) {
    return Plugin("scalars") + pb::Bytes(3, runs + tags);
  };
  const std::string run_a = pb::Bytes(1, pb::Bytes(1, "a"));
  const std::string no_runs = pb::Bytes(1, "");
  const std::string begin_of_a_name = pb::Bytes(1, pb::Bytes(1, "bl") + pb::Bytes(1, "blues"));
  const std::string tag_loss = pb::Bytes(2, pb::Bytes(1, "loss"));
  EXPECT_THAT(SeriesOf("ListScalars", filter(run_a, "")), ElementsAre(Pair("a", SizeIs(2))));
  EXPECT_THAT(SeriesOf("ListScalars", filter(run_a, tag_loss)), ElementsAre(Pair("a", SizeIs(1))));
  EXPECT_THAT(SeriesOf("ListScalars", filter("", tag_loss)), SizeIs(2));
  EXPECT_THAT(SeriesOf("ListScalars", filter(no_runs, "")), IsEmpty());
  EXPECT_THAT(SeriesOf("ListScalars", filter(begin_of_a_name, "")), IsEmpty());
}

TEST_F(ProviderTest, RefusesWhatIsNoRequest) {
  Start();
  const auto code = [&](std::string_view method, const std::string& message) {
    return Ask(method, message).status.code();
  };
  EXPECT_EQ(code("ListScalars", ""), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ReadTensors", Plugin("text")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ReadScalars", "\xff\xff"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ReadBlob", pb::Bytes(1, "x")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("Nothing", ""), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(provider_->Answer("/x.Y/Z", "").status.code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ProviderTest, ChoosesPointsAndGivesTheLast) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += Scalar(i, "loss", i == 2345 ? 100 : 1 + 0.01 * (i % 7));
  Append("r", bytes);
  Start();
  const Series all = SeriesOf("ReadScalars", Plugin("scalars") + Points(10000))["r"]["loss"];
  EXPECT_THAT(all.steps, SizeIs(5000));
  EXPECT_THAT(Floats(all), SizeIs(5000));
  const Series some = SeriesOf("ReadScalars", Plugin("scalars") + Points(1000))["r"]["loss"];
  EXPECT_LE(some.steps.size(), 1000u);
  EXPECT_THAT(some.steps, ::testing::Contains(2345));
  EXPECT_EQ(some.steps.front(), 0);
  EXPECT_EQ(some.steps.back(), 4999);
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(1))["r"]["loss"].steps,
              ElementsAre(4999));
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(0))["r"]["loss"].steps, IsEmpty());
}

// A cached choice must not outlive the state of its series.
TEST_F(ProviderTest, AnAnswerAfterAChangeHasTheChange) {
  const std::string request = Plugin("scalars") + Points(9);
  Append("r", Scalar(1, "loss", 1) + Scalar(2, "loss", 2));
  Start();
  const std::string first = MessageOf("ReadScalars", request);
  EXPECT_EQ(MessageOf("ReadScalars", request), first);
  EXPECT_EQ(SeriesOf("ReadScalars", Plugin("scalars") + Points(1))["r"]["loss"].steps.size(), 1u);
  Append("r", Scalar(3, "loss", 3));
  Scan();
  EXPECT_THAT(SeriesOf("ReadScalars", request)["r"]["loss"].steps, ElementsAre(1, 2, 3));
  // The same number of steps, but one was written again.
  Append("r", Scalar(3, "loss", 4));
  Scan();
  EXPECT_THAT(Floats(SeriesOf("ReadScalars", request)["r"]["loss"]), ElementsAre(1, 2, 4));
  // Another file in its place, with the same number of points.
  std::filesystem::remove_all(root_ + "/r");
  Append("r",
         Scalar(1, "loss", 5) + Scalar(2, "loss", 6) + Scalar(3, "loss", 7) + Scalar(4, "loss", 8));
  Scan();
  EXPECT_THAT(Floats(SeriesOf("ReadScalars", request)["r"]["loss"]), ElementsAre(5, 6, 7, 8));
  ASSERT_TRUE(catalog_->Uncache("r").ok());
  ASSERT_TRUE(catalog_->AwaitLoaded(kLong));
  EXPECT_THAT(Floats(SeriesOf("ReadScalars", request)["r"]["loss"]), ElementsAre(5, 6, 7, 8));
}

TEST_F(ProviderTest, ZeroIsAllWhereTheUserHasSaidSo) {
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += Scalar(i, "loss", i);
  for (int i = 0; i < 30; ++i) bytes += Value(i, "note", Metadata("text") + Strings({"x"}));
  Append("r", bytes);
  Start({{"scalars", std::nullopt}, {"text", std::nullopt}});
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(0))["r"]["loss"].steps,
              SizeIs(3000));
  EXPECT_THAT(SeriesOf("ReadTensors", Plugin("text") + Points(0))["r"]["note"].steps, SizeIs(30));
}

TEST_F(ProviderTest, NumbersOfEveryTypeAndNone) {
  const auto number = [](int type, const std::string& field) {
    return Metadata("scalars") +
           pb::Bytes(8, pb::Number(1, static_cast<std::uint64_t>(type)) + pb::Bytes(2, "") + field);
  };
  Append("r", Value(1, "double", number(2, pb::Bytes(6, std::string("\0\0\0\0\0\0\xe0\x3f", 8)))) +
                  Value(1, "int64", number(9, pb::Bytes(10, "\x07"))) +
                  Value(1, "bfloat16", number(14, pb::Bytes(13, "\x80\xff\x01"))) +
                  Scalar(1, "nan", std::nan("")) +
                  Scalar(1, "inf", std::numeric_limits<double>::infinity()));
  Start();
  const Runs runs = SeriesOf("ReadScalars", Plugin("scalars") + Points(10));
  const auto value = [&](const std::string& tag) {
    const std::vector<float> floats = Floats(runs.at("r").at(tag));
    return floats.empty() ? -1.0f : floats[0];
  };
  EXPECT_EQ(value("double"), 0.5f);
  EXPECT_EQ(value("int64"), 7.0f);
  EXPECT_TRUE(std::isnan(value("nan")));
  EXPECT_TRUE(std::isinf(value("inf")));
  EXPECT_TRUE(std::isinf(value("bfloat16")));
}

TEST_F(ProviderTest, ImagesAreReadByTheirKeys) {
  const auto image = [](int step, const std::string& bytes) {
    return Value(step, "input",
                 pb::Bytes(4, pb::Number(1, 2) + pb::Number(2, 3) + pb::Bytes(4, bytes)));
  };
  Append("r", image(1, "one") + image(2, std::string(9 << 20, 'x')));
  Start();
  EXPECT_EQ(MessageOf("ListPlugins", ""), PluginsMessage({"images"}));
  const std::string entry = SeriesOf("ListBlobSequences", Plugin("images"))["r"]["input"].entry;
  // At most three blobs; a class of old images like in Python.
  EXPECT_THAT(entry, HasSubstr("\x18\x03"));
  EXPECT_THAT(entry, HasSubstr("\x10\x01"));
  const Series series = SeriesOf("ReadBlobSequences", Plugin("images") + Points(10))["r"]["input"];
  EXPECT_THAT(series.steps, ElementsAre(1, 2));
  const auto read = [&](std::size_t step, int index) {
    pbf_reader sequence(series.values.at(step));
    for (int i = 0; sequence.next(1) && i < index; ++i) sequence.skip();
    pbf_reader reference = sequence.get_message();
    reference.next(1);
    const GrpcAnswer answer = Ask("ReadBlob", pb::Bytes(1, reference.get_string()));
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    // Several messages in succession.
    std::string blob;
    for (std::size_t at = 0; at < answer.frames.size();) {
      std::size_t length = 0;
      for (int i = 1; i < 5; ++i) {
        length = length << 8 | static_cast<unsigned char>(answer.frames[at + i]);
      }
      pbf_reader message(answer.frames.data() + at + 5, length);
      message.next(1);
      blob += message.get_string();
      at += 5 + length;
    }
    return blob;
  };
  EXPECT_EQ(read(0, 0), "3");
  EXPECT_EQ(read(0, 1), "2");
  EXPECT_EQ(read(0, 2), "one");
  EXPECT_EQ(read(1, 2), std::string(9 << 20, 'x'));
}

TEST_F(ProviderTest, ATagOfTheOldStyleIsCalledAsTensorBoardCallsIt) {
  // A scalar of the new style is a float tensor.
  const std::string number = pb::Bytes(8, pb::Number(1, 1) + pb::Bytes(2, "") + pb::Float(5, 2));
  Append("r", Scalar(1, "old", 1) + Value(1, "new", Metadata("scalars") + number));
  Start();
  Runs listed = SeriesOf("ListScalars", Plugin("scalars"));
  EXPECT_THAT(listed["r"]["old"].entry, HasSubstr("\x12\x03old"));
  EXPECT_THAT(listed["r"]["new"].entry, ::testing::Not(HasSubstr("\x12\x03new")));
}

TEST_F(ProviderTest, AHistogramOfTheOldStyleIsShownWithoutEmptyBucketsAtItsEnds) {
  const auto doubles = [](std::initializer_list<double> numbers) {
    std::string bytes;
    for (const double number : numbers) bytes += pb::DoubleBytes(number);
    return bytes;
  };
  const std::string histogram = pb::Double(1, 1.5) + pb::Double(2, 3.5) + pb::Double(3, 3) +
                                pb::Bytes(6, doubles({1, 2, 3, 4, 5})) +
                                pb::Bytes(7, doubles({0, 1, 0, 2, 0}));
  Append("r", Value(1, "weights", pb::Bytes(5, histogram)));
  Start();
  std::string rows;
  for (const float number : {1.5f, 2.0f, 1.0f, 2.0f, 3.0f, 0.0f, 3.0f, 3.5f, 2.0f}) {
    rows += pb::FloatBytes(number);
  }
  const std::int64_t shape[] = {3, 3};
  EXPECT_THAT(SeriesOf("ReadTensors", Plugin("histograms") + Points(9))["r"]["weights"].values,
              ElementsAre(TensorMessage(1, shape, rows)));
}

TEST_F(ProviderTest, APluginWithoutAnySeriesIsListed) {
  // A plugin that reads its own files, and one whose values are all damaged.
  Append("r", Value(1, "hello", Metadata("greeter")) + Value(1, "bad", Metadata("scalars")) +
                  Value(1, "note", Metadata("text") + Strings({"x"})));
  Start();
  EXPECT_EQ(MessageOf("ListPlugins", ""), PluginsMessage({"greeter", "scalars", "text"}));
}

TEST_F(ProviderTest, AKeyOfWhatIsGoneIsNotFound) {
  Append("r", Scalar(1, "loss", 1));
  Start();
  BlobKey key = {.run = "r", .tag = "input", .file = "events.out.tfevents.1.host"};
  EXPECT_EQ(Ask("ReadBlob", pb::Bytes(1, EncodeBlobKey(key))).status.code(),
            absl::StatusCode::kNotFound);
  key.run = "nobody";
  EXPECT_EQ(Ask("ReadBlob", pb::Bytes(1, EncodeBlobKey(key))).status.code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ProviderTest, ParametersOfATrialAreHyperparameters) {
  Append("trial", Scalar(1, "loss", 1));
  Append("trial", R"({"lr": 0.5, "net": {"depth": 3}})", "params.json");
  Append("other", Scalar(1, "loss", 1));
  Append("own", Value(0, std::string(kStart), Metadata("hparams", "theirs")));
  Append("own", R"({"lr": 0.5})", "params.json");
  Start();
  EXPECT_EQ(MessageOf("ListPlugins", ""), PluginsMessage({"hparams", "scalars"}));
  const Runs listed = SeriesOf("ListTensors", Plugin("hparams"));
  ASSERT_THAT(listed, SizeIs(2));
  const std::string trial = listed.at("trial").at(std::string(kStart)).entry;
  EXPECT_THAT(trial, HasSubstr("net/depth"));
  EXPECT_THAT(listed.at("own").at(std::string(kStart)).entry, HasSubstr("theirs"));
  const Runs read = SeriesOf("ReadTensors", Plugin("hparams") + Points(1));
  EXPECT_THAT(read.at("trial").at(std::string(kStart)).values, ElementsAre(EmptyTensor()));
}

TEST_F(ProviderTest, TheEndOfATrialIsThatOfItsSession) {
  const auto outcome = [](const std::string& state) {
    return R"({"state": ")" + state + R"(", "ended": "2026-11-27T04:47:49.5Z"})";
  };
  for (const std::string state : {"done", "failed", "stopped", "running"}) {
    Append(state, Scalar(1, "loss", 1));
    Append(state, R"({"lr": 0.5})", "params.json");
    if (state != "running") Append(state, outcome(state), "outcome.json");
  }
  // Both runs contain their own session start; only "ended" contains a session end, too.
  Append("began", Value(0, std::string(kStart), Metadata("hparams", "theirs")));
  Append("began", outcome("done"), "outcome.json");
  Append("ended", Value(0, std::string(kStart), Metadata("hparams", "theirs")));
  Append("ended", Value(1, std::string(kEnd), Metadata("hparams", "their end")));
  Append("ended", outcome("failed"), "outcome.json");
  // Its parameters are unknown, so it has no row.
  Append("other", Scalar(1, "loss", 1));
  Append("other", outcome("done"), "outcome.json");
  Start();
  const Runs listed = SeriesOf("ListTensors", Plugin("hparams"));
  const auto end = [](HParamsContent::Status status) {
    return HasSubstr(SessionEndContent(status, 1795754869.5));
  };
  const std::string tag(kEnd);
  EXPECT_THAT(listed.at("done").at(tag).entry, end(HParamsContent::Status::kSuccess));
  EXPECT_THAT(listed.at("failed").at(tag).entry, end(HParamsContent::Status::kFailure));
  EXPECT_THAT(listed.at("stopped").at(tag).entry, end(HParamsContent::Status::kUnknown));
  EXPECT_EQ(listed.at("running").count(tag), 0u);
  EXPECT_THAT(listed.at("began").at(tag).entry, end(HParamsContent::Status::kSuccess));
  EXPECT_THAT(listed.at("ended").at(tag).entry, HasSubstr("their end"));
  EXPECT_EQ(listed.count("other"), 0u);
  const Runs read = SeriesOf("ReadTensors", Plugin("hparams") + Points(1));
  EXPECT_THAT(read.at("done").at(tag).values, ElementsAre(EmptyTensor()));
  const std::string only = pb::Bytes(3, pb::Bytes(2, pb::Bytes(1, tag)));
  EXPECT_THAT(SeriesOf("ListTensors", Plugin("hparams") + only).at("done"),
              ElementsAre(Pair(tag, ::testing::_)));
}

TEST_F(ProviderTest, RunsOfMindSporeAreShownByTensorBoardsPlugins) {
  const auto event = [](std::int64_t step, const std::string& value) {
    return Event(step, pb::Bytes(5, pb::Bytes(1, value)));
  };
  std::string head;
  eventlog::AppendRecord(pb::Double(1, 100) + pb::Bytes(3, "MindSpore.Event:1"), &head);
  const std::string image =
      pb::Bytes(4, pb::Number(1, 3) + pb::Number(2, 2) + pb::Number(3, 3) + pb::Bytes(4, "png"));
  const std::string bucket = pb::Double(1, 0.5) + pb::Double(2, 0.25) + pb::Number(3, 7);
  std::string graph;
  eventlog::AppendRecord(
      pb::Double(1, 100) + pb::Bytes(4, pb::Bytes(1, pb::Bytes(2, "1") + pb::Bytes(3, "ReLU"))),
      &graph);
  Append("r",
         head + graph + event(1, pb::Bytes(1, "loss") + pb::Float(3, 0.5)) +
             event(1, pb::Bytes(1, "input") + image) +
             event(1, pb::Bytes(1, "weight") + pb::Bytes(9, pb::Bytes(1, bucket))),
         "run.out.events.summary.1700000000.host");
  Start();
  EXPECT_EQ(MessageOf("ListPlugins", ""),
            PluginsMessage({"graphs", "histograms", "images", "scalars"}));
  EXPECT_THAT(Floats(SeriesOf("ReadScalars", Plugin("scalars") + Points(9))["r"]["loss/scalar"]),
              ElementsAre(0.5f));
  EXPECT_THAT(SeriesOf("ListBlobSequences", Plugin("images"))["r"]["input/image"].entry,
              HasSubstr("\x18\x03"));
  const std::string row = pb::DoubleBytes(0.5) + pb::DoubleBytes(0.75) + pb::DoubleBytes(7);
  const std::int64_t shape[] = {1, 3};
  EXPECT_THAT(
      SeriesOf("ReadTensors", Plugin("histograms") + Points(9))["r"]["weight/histogram"].values,
      ElementsAre(TensorMessage(2, shape, row)));
}

TEST_F(ProviderTest, ACommandsArgumentsAreHyperparameters) {
  Append("trial", Scalar(1, "loss", 1));
  Append("trial", R"({"trial": "t-1", "argv": ["train.py", "--lr", "0.25"]})", "provenance.json");
  Start();
  const std::string entry =
      SeriesOf("ListTensors", Plugin("hparams")).at("trial").at(std::string(kStart)).entry;
  EXPECT_THAT(entry, HasSubstr("lr"));
  EXPECT_THAT(entry, HasSubstr("train.py"));
}

TEST_F(ProviderTest, TheMostBlobsOfAllValuesAreKnown) {
  std::string bytes;
  for (int step = 0; step < 300; ++step) {
    const std::vector<std::string> strings(step == 7 ? 12 : 3, "1");
    bytes += Value(step, "input", Metadata("images") + Strings(strings));
  }
  Append("r", bytes);
  Start();
  EXPECT_THAT(SeriesOf("ListBlobSequences", Plugin("images")).at("r").at("input").entry,
              HasSubstr("\x18\x0c"));
}

TEST_F(ProviderTest, NoAnswerIsLargerThanItMayBe) {
  std::string bytes;
  for (int step = 0; step < 40; ++step) {
    bytes += Value(step, "note", Metadata("text") + Strings({std::string(1000, 'x')}));
    bytes += Scalar(step, "loss", step);
  }
  Append("a", bytes);
  Append("b", bytes);
  Start({{"text", std::nullopt}}, Overlap::kLastWrite, 20'000);
  const std::string text = MessageOf("ReadTensors", Plugin("text") + Points(0));
  EXPECT_LE(text.size(), 20'000u);
  EXPECT_GE(text.size(), 10'000u);
  // A value that is too large for any answer is left out.
  Append("large", Value(1, "note", Metadata("text") + Strings({std::string(30'000, 'x')})));
  Scan();
  const std::string large = pb::Bytes(3, pb::Bytes(1, pb::Bytes(1, "large")));
  EXPECT_THAT(SeriesOf("ReadTensors", Plugin("text") + Points(1) + large)["large"]["note"].steps,
              IsEmpty());
  // An answer that cannot be made small enough fails with an error.
  Start({}, Overlap::kLastWrite, 100);
  EXPECT_EQ(Ask("ReadScalars", Plugin("scalars") + Points(40)).status.code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_LE(Provider::Options().most_answer_bytes, 64'000'000u);
}

TEST_F(ProviderTest, StepsThatWereWrittenAgainFollowThePolicy) {
  const std::string bytes = Scalar(1, "loss", 1) + Scalar(2, "loss", 2) + Scalar(1, "loss", 3);
  Append("r", bytes);
  Start();
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(9))["r"]["loss"].steps,
              ElementsAre(1, 2));
  Start({}, Overlap::kRaw);
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(9))["r"]["loss"].steps,
              ElementsAre(1, 1, 2));
}

TEST_F(ProviderTest, NamesThatAreNotUtf8AreShownAndFound) {
  Append("r", Scalar(1, "bad\xff", 1));
  Start();
  const Runs listed = SeriesOf("ListScalars", Plugin("scalars"));
  EXPECT_THAT(listed.at("r"), ElementsAre(Pair("bad\xef\xbf\xbd", ::testing::_)));
  const std::string filter = pb::Bytes(3, pb::Bytes(2, pb::Bytes(1, "bad\xef\xbf\xbd")));
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(1) + filter), SizeIs(1));
}

TEST_F(ProviderTest, OneFlippedBitCostsOnePoint) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += Scalar(i, "loss", i);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  Append("r", bytes);
  Start();
  EXPECT_THAT(SeriesOf("ReadScalars", Plugin("scalars") + Points(1000))["r"]["loss"].steps,
              SizeIs(99));
}

TEST_F(ProviderTest, ManyRunsGetFewerPointsEach) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += Scalar(i, "loss", i);
  for (int run = 0; run < 500; ++run) Append(absl::StrCat("r", run), bytes);
  Start();
  const Runs runs = SeriesOf("ReadScalars", Plugin("scalars") + Points(1000));
  EXPECT_THAT(runs, SizeIs(500));
  for (const auto& [name, tags] : runs) {
    EXPECT_LE(tags.at("loss").steps.size(), 200u);
    EXPECT_GE(tags.at("loss").steps.size(), 150u);
  }
}

TEST(EffortTest, WhoWaitsForFilesHoldsUpNoList) {
  const auto effort = [](std::string_view method) {
    return Provider::EffortOf(absl::StrCat(std::string(kService), std::string(method)));
  };
  EXPECT_EQ(effort("GetExperiment"), Provider::Effort::kNone);
  EXPECT_EQ(effort("Nothing"), Provider::Effort::kNone);
  EXPECT_EQ(effort("ListPlugins"), Provider::Effort::kList);
  EXPECT_EQ(effort("ListScalars"), Provider::Effort::kList);
  EXPECT_EQ(effort("ReadScalars"), Provider::Effort::kRead);
  EXPECT_EQ(effort("ReadBlob"), Provider::Effort::kRead);
}

}  // namespace
}  // namespace datamanager::tensorboard
