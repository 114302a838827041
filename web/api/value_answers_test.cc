#include "web/api/value_answers.h"

#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/call/service.h"
#include "bus/schema/datamanager_methods.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "web/testing/fake_services.h"

namespace web {
namespace {

using nlohmann::json;
using rpc::Datamanager;
using testing::ElementsAre;
using testing::HasSubstr;

class ValueAnswersTest : public testing::Test {
 protected:
  static Target Query(const std::string& query) {
    auto target = ParseTarget("/api/v1/runs/base/values?" + query);
    EXPECT_TRUE(target.ok()) << target.status();
    return *std::move(target);
  }
  using Parts = std::vector<msg::ReadValuesReplyT>;
  using Writer = bus::ReplyWriter<Datamanager::ReadValues>;
  static void Send(std::shared_ptr<Writer> writer, std::shared_ptr<Parts> parts, std::size_t i) {
    if (writer->cancelled()) return;
    if (i + 1 == parts->size()) return writer->Finish(parts->back());
    const bool sent = writer->SendPart((*parts)[i]).ok();
    auto* const one = writer.get();
    one->WhenWritable([writer = std::move(writer), parts = std::move(parts), i, sent] {
      Send(writer, parts, sent ? i + 1 : i);
    });
  }
  // Answers ReadValues with these parts, until the client cancels.
  void ServeValues(Parts parts) {
    auto shared = std::make_shared<Parts>(std::move(parts));
    services_.Add("datamanager")
        .HandleAsync<Datamanager::ReadValues>([this, shared](const auto& writer, auto& request) {
          asked_ = request;
          Send(writer, shared, 0);
        });
    services_.Start();
  }
  static msg::ReadValuesReplyT Part(const std::string& plugin, bool more = false) {
    msg::ReadValuesReplyT part;
    part.run = "base";
    part.tag = "t";
    part.plugin = plugin;
    part.total = 3;
    part.more = more;
    return part;
  }
  static std::unique_ptr<msg::TensorT> Tensor(std::vector<double> numbers) {
    auto tensor = std::make_unique<msg::TensorT>();
    tensor->dtype = 1;
    tensor->shape = {static_cast<std::int64_t>(numbers.size())};
    tensor->total = numbers.size();
    tensor->numbers = std::move(numbers);
    tensor->min = tensor->max = tensor->mean = std::numeric_limits<double>::quiet_NaN();
    return tensor;
  }
  template <typename T>
  static std::vector<std::uint8_t> Bytes(std::vector<T> elements) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
  }

  FakeServices services_;
  msg::ReadValuesRequestT asked_;
};

TEST_F(ValueAnswersTest, ValuesOfAllPartsAreInOrder) {
  auto first = Part("images", /*more=*/true);
  auto image = std::make_unique<msg::BlobT>();
  image->file = "events.1";
  image->offset = 7;
  image->length = 70;
  image->crc = 4'000'000'000;
  image->step = 1;
  image->width = 32;
  image->content_type = "image/png";
  first.blobs.push_back(std::move(image));
  auto second = Part("images");
  second.refused = 2;
  second.why_refused = "step 3: it is too large";
  auto histogram = std::make_unique<msg::HistogramValueT>();
  histogram->lefts = {0, 1};
  histogram->rights = {1, 2};
  histogram->counts = {5, 6};
  histogram->nan_count = 3;
  second.histograms.push_back(std::move(histogram));
  Parts parts;
  parts.push_back(std::move(first));
  parts.push_back(std::move(second));
  ServeValues(std::move(parts));
  const auto answer = ValuesAnswer(
      services_.client(), "base",
      Query("tag=t&last=5&slice=%5B0%5D&max_values=9&limit=7&first=2&references=1&whole=1"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)["plugin"], "images");
  EXPECT_EQ((*answer)["total"], 3);
  EXPECT_EQ((*answer)["more"], false);
  EXPECT_EQ((*answer)["refused"], 2);
  EXPECT_EQ((*answer)["why_refused"], "step 3: it is too large");
  const json& values = (*answer)["values"];
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0]["kind"], "blob");
  EXPECT_EQ(values[0]["crc"], 4'000'000'000);
  EXPECT_EQ(values[1]["counts"], json({5, 6}));
  EXPECT_EQ(values[1]["not_finite"], 3);
  EXPECT_THAT(asked_.selection->runs, ElementsAre("base"));
  EXPECT_THAT(asked_.selection->tags, ElementsAre("t"));
  EXPECT_EQ(asked_.last, 5U);
  EXPECT_EQ(asked_.slice, "[0]");
  EXPECT_TRUE(asked_.references);
  EXPECT_TRUE(asked_.selection->whole);
  EXPECT_EQ(asked_.max_values, 9U);
  EXPECT_EQ(asked_.limit, 7U);
  EXPECT_EQ(asked_.first_value, 2U);
}

TEST_F(ValueAnswersTest, NumbersOfEveryTypeAreExact) {
  auto part = Part("tensor");
  part.tensors.push_back(Tensor({1, std::numeric_limits<double>::quiet_NaN()}));
  struct Case {
    std::int32_t dtype;
    std::vector<std::uint8_t> data;
  };
  const Case cases[] = {
      {9, Bytes<std::int64_t>({-9'007'199'254'740'993})},
      {23, Bytes<std::uint64_t>({18'446'744'073'709'551'615U})},
      {8, Bytes<float>({1, 2})},
      {18, Bytes<double>({0.5, -1})},
      {77, Bytes<double>({0.5})},  // An unknown type.
  };
  for (const Case& one : cases) {
    auto tensor = Tensor({});
    tensor->dtype = one.dtype;
    tensor->data = one.data;
    part.tensors.push_back(std::move(tensor));
  }
  auto text = Tensor({});
  text->strings = {"<b>"};
  part.tensors.push_back(std::move(text));
  Parts parts;
  parts.push_back(std::move(part));
  ServeValues(std::move(parts));
  const auto answer = ValuesAnswer(services_.client(), "base", Query("tag=t"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  const json& values = (*answer)["values"];
  EXPECT_EQ(values[0]["numbers"].dump(), R"([1.0,"NaN"])");
  EXPECT_EQ(values[1]["numbers"].dump(), "[-9007199254740993]");
  EXPECT_EQ(values[2]["numbers"].dump(), "[18446744073709551615]");
  EXPECT_EQ(values[3]["numbers"].dump(), "[[1.0,2.0]]");
  EXPECT_EQ(values[4]["numbers"].dump(), "[[0.5,-1.0]]");
  EXPECT_EQ(values[5]["numbers"].dump(), "[]");
  EXPECT_EQ(values[6]["strings"], json({"<b>"}));
}

TEST_F(ValueAnswersTest, AnAnswerIsNoLargerThanItsLimit) {
  Parts parts;
  for (int i = 0; i < 20; ++i) {
    parts.push_back(Part("tensor", /*more=*/i < 19));
    parts.back().tensors.push_back(Tensor(std::vector<double>(100'000, 0.123456789)));
  }
  ServeValues(std::move(parts));
  const auto answer = ValuesAnswer(services_.client(), "base", Query("tag=t"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)["more"], true);
  EXPECT_LT((*answer)["values"].size(), 10U);
  EXPECT_LT(answer->dump().size(), 2 * kMostValueBytes);
}

TEST_F(ValueAnswersTest, TheLastPartOfAFullAnswerIsNotTakenForTheNext) {
  // All parts are sent before the first is processed.
  services_.Add("datamanager")
      .HandleAsync<Datamanager::ReadValues>([&](const auto& writer, const auto&) {
        for (int i = 0; i < 5; ++i) {
          auto part = Part("text", /*more=*/i < 4);
          auto tensor = Tensor({});
          tensor->step = i;
          tensor->strings = {std::string(i == 0 ? kMostValueBytes / 3 : kMostValueBytes / 2, 'x')};
          part.tensors.push_back(std::move(tensor));
          if (i == 4) {
            part.tensors[0]->strings = {"the last"};
            writer->Finish(std::move(part));
          } else {
            (void)writer->SendPart(std::move(part));
          }
        }
      });
  services_.Start();
  const auto answer = ValuesAnswer(services_.client(), "base", Query("tag=t"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  if ((*answer)["more"] == true) {
    for (const json& value : (*answer)["values"]) EXPECT_NE(value["strings"][0], "the last");
  }
  EXPECT_FALSE((*answer)["more"] == false && (*answer)["values"].size() < 5);
}

TEST_F(ValueAnswersTest, WhatIsNoQuestionSaysWhy) {
  services_.Add("datamanager");
  services_.Start();
  for (const char* query : {"", "tag=", "tag=t&last=-1", "tag=t&limit=x", "tag=t&max_values=100001",
                            "tag=t&first=1e3"}) {
    EXPECT_EQ(ValuesAnswer(services_.client(), "base", Query(query)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << query;
  }
  EXPECT_THAT(
      std::string(
          ValuesAnswer(services_.client(), "base", Query("tag=t&last=x")).status().message()),
      HasSubstr("\"last\" is no number from 0 to 5000"));
  EXPECT_EQ(BlobAnswer(services_.client(), "base", Query("file=a&length=68000000")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ValueAnswersTest, ABlobIsWhole) {
  const std::string png = std::string("\x89PNG\r\n\x1a\n", 8) + "rest";
  msg::ReadBlobRequestT asked;
  services_.Add("datamanager")
      .HandleAsync<Datamanager::ReadBlob>([&](const auto& writer, const auto& request) {
        asked.run = request.run;
        asked.blob = std::make_unique<msg::BlobT>(*request.blob);
        msg::ReadBlobReplyT part;
        part.data.assign(png.begin(), png.begin() + 5);
        EXPECT_TRUE(writer->SendPart(part).ok());
        part.data.assign(png.begin() + 5, png.end());
        EXPECT_TRUE(writer->SendPart(part).ok());
        writer->Finish(msg::ReadBlobReplyT());
      });
  services_.Start();
  const auto blob = BlobAnswer(services_.client(), "base",
                               Query("file=events.1&offset=7&length=12&crc=4000000000"));
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ(blob->body, png);
  EXPECT_EQ(blob->type, "image/png");
  EXPECT_EQ(asked.run, "base");
  EXPECT_EQ(asked.blob->file, "events.1");
  EXPECT_EQ(asked.blob->offset, 7U);
  EXPECT_EQ(asked.blob->crc, 4'000'000'000U);
}

TEST_F(ValueAnswersTest, OnlyWhatABrowserShowsSafelyHasAType) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(TypeOfBytes("\xff\xd8\xff\xe0"sv), "image/jpeg");
  EXPECT_EQ(TypeOfBytes("GIF89a"sv), "image/gif");
  EXPECT_EQ(TypeOfBytes("RIFF\0\0\0\0WAVEfmt"sv), "audio/wav");
  EXPECT_EQ(TypeOfBytes("RIFF\0\0\0\0WEBP"sv), "image/webp");
  for (const auto bytes :
       {""sv, "<svg xmlns"sv, "<html>"sv, "<?xml"sv, "%PDF"sv, "RIFF"sv, "RIFF\0\0\0\0AVI "sv}) {
    EXPECT_EQ(TypeOfBytes(bytes), "application/octet-stream") << bytes;
  }
}

TEST_F(ValueAnswersTest, AGraphHasPages) {
  msg::ReadGraphRequestT asked;
  services_.Add("datamanager")
      .Handle<Datamanager::ReadGraph>([&](const bus::CallContext&, const auto& request) {
        asked = request;
        msg::ReadGraphReplyT reply;
        reply.run = "base";
        reply.total = 9;
        reply.next = "net/conv";
        reply.nodes.push_back(std::make_unique<msg::GraphNodeT>());
        reply.nodes[0]->name = "net";
        reply.nodes[0]->nodes = 8;
        reply.nodes[0]->attributes.push_back(std::make_unique<msg::KeyValueT>());
        reply.nodes[0]->attributes[0]->key = "shape";
        reply.nodes[0]->attributes[0]->value = "[1]";
        return reply;
      });
  services_.Start();
  const auto page = GraphAnswer(services_.client(), "base",
                                Query("scope=net&search=CONV&after=a&tag=g&limit=50"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ((*page)["next"], "net/conv");
  EXPECT_EQ((*page)["nodes"][0]["nodes"], 8);
  EXPECT_EQ((*page)["nodes"][0]["attributes"], json({{"shape", "[1]"}}));
  EXPECT_EQ(std::tie(asked.run, asked.scope, asked.search, asked.after, asked.tag),
            std::make_tuple("base", "net", "CONV", "a", "g"));
  EXPECT_EQ(asked.limit, 50U);
}

TEST_F(ValueAnswersTest, LineageIsAsItsFilesHaveIt) {
  services_.Add("datamanager")
      .Handle<Datamanager::Lineage>([&](const bus::CallContext&, const auto& request) {
        msg::LineageReplyT reply;
        if (request.selection->runs.front() != "base") return reply;
        reply.runs.push_back(std::make_unique<msg::RunLineageT>());
        reply.runs[0]->run = "base";
        reply.runs[0]->train = R"({"algorithm":{"network":"LeNet5"}})";
        reply.runs[0]->dataset = "no JSON";
        return reply;
      });
  services_.Start();
  const auto lineage = LineageAnswer(services_.client(), "base");
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_EQ((*lineage)["train"]["algorithm"]["network"], "LeNet5");
  EXPECT_EQ((*lineage)["dataset"], "no JSON");
  EXPECT_EQ((*lineage)["evaluation"], nullptr);
  EXPECT_EQ((*LineageAnswer(services_.client(), "other"))["train"], nullptr);
}

}  // namespace
}  // namespace web
