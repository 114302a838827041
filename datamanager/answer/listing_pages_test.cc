#include "datamanager/answer/listing_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/json/annotations.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/tag_pages.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/profiler_directory.h"
#include "datamanager/fixtures/fake_run_source.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Need = RunSource::Need;
using RunInfo = RunCatalog::RunInfo;

constexpr const char* kFile = "/events.out.tfevents.1.host";

std::string Scalar(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
std::string Text(const std::string& tag, const std::string& description) {
  const std::string metadata =
      pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, "text") + pb::Bytes(2, "own")) + pb::Bytes(2, "Note") +
                       pb::Bytes(3, description));
  const std::string value =
      pb::Bytes(1, tag) + metadata + pb::Bytes(8, pb::Number(1, 7) + pb::Bytes(8, "hello"));
  std::string record;
  eventlog::AppendRecord(pb::Double(1, 7) + pb::Number(2, 3) + pb::Bytes(5, pb::Bytes(1, value)),
                         &record);
  return record;
}

// Returns an event with the parameter "lr" of the plugin "hparams".
std::string Rate(double rate) {
  const std::string start = pb::Bytes(1, pb::Bytes(1, "lr") + pb::Bytes(2, pb::Double(2, rate)));
  const std::string metadata =
      pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, "hparams") + pb::Bytes(2, pb::Bytes(3, start))));
  std::string record;
  eventlog::AppendRecord(
      pb::Double(1, 7) +
          pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, "_hparams_/session_start_info") + metadata)),
      &record);
  return record;
}

class ListingPagesTest : public ::testing::Test {
 protected:
  // Makes runs in this order, newest first, as the catalog would list them.
  void Make(const std::vector<std::string>& names) {
    std::int64_t update_us = 1000;
    for (const std::string& name : names) {
      source_.Append(name + kFile, Scalar(1, "loss", static_cast<double>(names.size())));
    }
    source_.Scan();
    for (const std::string& name : names) {
      RunInfo info;
      info.listed = source_.item(name).run();
      info.update_us = --update_us;
      runs_.push_back(info);
    }
  }
  absl::StatusOr<msg::RunsReplyT> Page(const std::function<void(msg::RunsRequestT*)>& ask =
                                           [](auto*) {}) {
    msg::RunsRequestT request;
    ask(&request);
    return RunsPage(request, runs_, source_);
  }
  static std::vector<std::string> NamesOf(const absl::StatusOr<msg::RunsReplyT>& page) {
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> names;
    if (page.ok()) {
      for (const auto& run : page->runs) names.push_back(run->name);
    }
    return names;
  }

  FakeRunSource source_;
  std::vector<RunInfo> runs_;
};

TEST_F(ListingPagesTest, PagesTogetherAreEveryRunOnce) {
  Make({"c", "a", "b", "e", "d"});
  std::string after;
  std::vector<std::string> all;
  for (int pages = 1;; ++pages) {
    const auto page = Page([&](auto* request) {
      request->limit = 2;
      request->after = after;
    });
    for (const std::string& name : NamesOf(page)) all.push_back(name);
    EXPECT_EQ(page->total, 5u);
    after = page->next;
    if (after.empty()) break;
    ASSERT_LT(pages, 3);
    // A run that grows between two pages moves to the front, but no run is listed twice.
    if (pages == 1) {
      runs_[4].update_us = 5000;
      std::rotate(runs_.begin(), runs_.begin() + 4, runs_.end());
    }
  }
  EXPECT_THAT(all, ElementsAre("c", "a", "b", "e"));
  EXPECT_EQ(Page([](auto* r) { r->after = "x"; }).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ListingPagesTest, RunsAreInTheOrderOfAColumnPartByPart) {
  for (const auto& [run, value] : {std::pair("c", 3.0), {"a", 1.0}, {"b", 2.0}}) {
    source_.Append(std::string(run) + kFile, Scalar(1, "val", value));
  }
  Make({"c", "a", "none", "b"});
  for (const char* run : {"a", "b", "c", "none"}) source_.ReadFiles(run, Need::kCounts);
  const auto part = [&](const std::string& sort, std::uint32_t skip, std::uint32_t limit) {
    const auto page = Page([&](auto* request) {
      request->sort = sort;
      request->skip = skip;
      request->limit = limit;
      request->metrics = {"loss"};
    });
    EXPECT_EQ(page->total, 4u);
    EXPECT_EQ(page->next, "");
    for (const auto& run : page->runs) EXPECT_EQ(run->metrics.size(), 1u) << "what was asked for";
    return NamesOf(page);
  };
  EXPECT_THAT(part("val", 0, 0), ElementsAre("a", "b", "c", "none"));
  EXPECT_THAT(part("-val", 0, 0), ElementsAre("c", "b", "a", "none"));
  EXPECT_THAT(part("-val", 0, 2), ElementsAre("c", "b"));
  EXPECT_THAT(part("-val", 2, 2), ElementsAre("a", "none"));
  EXPECT_THAT(part("-val", 4, 2), IsEmpty());
  EXPECT_THAT(part("run", 1, 2), ElementsAre("b", "c"));
  EXPECT_THAT(part("-updated", 0, 1), ElementsAre("c"));
  for (const auto& wrong : std::vector<std::function<void(msg::RunsRequestT*)>>{
           [](auto* r) { r->sort = "trial_state"; },
           [](auto* r) {
             r->sort = "val";
             r->after = "999 c";
           }}) {
    EXPECT_EQ(Page(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ListingPagesTest, APatternAKindAndAQuerySelect) {
  Make({"base", "sweep/a", "sweep/b"});
  EXPECT_THAT(NamesOf(Page([](auto* r) { r->pattern = "^sweep/"; })),
              ElementsAre("sweep/a", "sweep/b"));
  EXPECT_THAT(NamesOf(Page([](auto* r) { r->kind = "summary"; })).size(), 3u);
  EXPECT_THAT(NamesOf(Page([](auto* r) { r->kind = "lineage"; })), IsEmpty());
  EXPECT_THAT(NamesOf(Page([](auto* r) { r->query = "name:a$ | name:^base"; })),
              ElementsAre("base", "sweep/a"));
  for (const auto& wrong : std::vector<std::function<void(msg::RunsRequestT*)>>{
           [](auto* r) { r->pattern = "("; }, [](auto* r) { r->query = "loss<"; },
           [](auto* r) { r->kind = "else"; }}) {
    EXPECT_EQ(Page(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ListingPagesTest, AQueryAboutFilesIsPutToWhatWasRead) {
  Make({"a", "b"});
  const auto ask = [](msg::RunsRequestT* request) { request->query = "loss=2"; };
  const auto before = Page(ask);
  EXPECT_THAT(NamesOf(before), IsEmpty());
  EXPECT_EQ(before->undecided, 2u);
  source_.ReadFiles("b", Need::kCounts);
  const auto after = Page(ask);
  EXPECT_THAT(NamesOf(after), ElementsAre("b"));
  EXPECT_EQ(after->undecided, 1u);
  // Listing runs reads no files.
  EXPECT_THAT(source_.wanted(), IsEmpty());
}

TEST_F(ListingPagesTest, SummariesOfMetricsAreThoseThatWereRead) {
  source_.Append(std::string("a") + kFile,
                 Scalar(1, "loss", 4) + Scalar(2, "loss", -1) + Scalar(3, "loss", NAN));
  Make({"a", "b"});
  const auto ask = [](msg::RunsRequestT* request) { request->metrics = {"loss", "accuracy"}; };
  const auto before = Page(ask);
  ASSERT_THAT(NamesOf(before), ElementsAre("a", "b"));
  EXPECT_THAT(before->runs[0]->metrics, IsEmpty());
  source_.ReadFiles("a", Need::kCounts);
  const auto after = Page(ask);
  ASSERT_EQ(after->runs[0]->metrics.size(), 1u) << "it has no accuracy";
  const msg::MetricSummaryT& loss = *after->runs[0]->metrics[0];
  EXPECT_EQ(loss.tag, "loss");
  EXPECT_TRUE(std::isnan(loss.last));
  EXPECT_EQ(loss.min, -1);
  EXPECT_EQ(loss.max, 4);
  EXPECT_THAT(after->runs[1]->metrics, IsEmpty());
  // Listing runs reads no files.
  EXPECT_THAT(source_.wanted(), IsEmpty());
}

TEST_F(ListingPagesTest, ParametersComeFromTheTrialElseFromTheFiles) {
  source_.Append(std::string("a") + kFile, Rate(0.5));
  // In the format that add_hparams() of torch and of tensorboardX writes.
  source_.Append(std::string("b/1700000000.5") + kFile, Rate(0.125));
  constexpr std::string_view kConfig = R"({"lr": 0.25, "net": {"act": "relu"}})";
  Make({"a", "b", "b/1700000000.5", "c"});
  ASSERT_TRUE(
      source_.item("c")
          .Set<RunConfig>(kConfigKey, std::make_shared<RunConfig>(*RunConfig::Parse(kConfig)))
          .ok());
  for (const char* name : {"a", "b", "b/1700000000.5", "c"}) source_.ReadFiles(name, Need::kCounts);
  const auto page = Page([](msg::RunsRequestT* request) {
    request->parameters = {"lr", "net/act", "none"};
  });
  ASSERT_THAT(NamesOf(page), ElementsAre("a", "b", "b/1700000000.5", "c"));
  const auto parameters = [&](std::size_t run) {
    std::vector<std::string> all;
    for (const auto& one : page->runs[run]->parameters) all.push_back(one->key + "=" + one->value);
    return all;
  };
  EXPECT_THAT(parameters(0), ElementsAre("lr=0.5"));
  EXPECT_THAT(parameters(1), ElementsAre("lr=0.125"));
  EXPECT_THAT(parameters(3), ElementsAre("lr=0.25", "net/act=\"relu\""));
}

TEST_F(ListingPagesTest, LabelsAreThoseOfTheTrial) {
  Make({"a", "b"});
  auto labels = std::make_shared<RunLabels>();
  labels->labels = {"best"};
  labels->trial = "t-1";
  ASSERT_TRUE(source_.item("b").Set<RunLabels>(kTrialKey, labels).ok());
  const auto page = Page([](auto* r) { r->query = "label:best"; });
  ASSERT_THAT(NamesOf(page), ElementsAre("b"));
  EXPECT_THAT(page->runs[0]->labels, ElementsAre("best"));
  EXPECT_EQ(page->runs[0]->trial, "t-1");
}

TEST_F(ListingPagesTest, WhatPeopleSayGoesOverWhatTheTrialWasStartedWith) {
  Make({"a", "b"});
  auto labels = std::make_shared<RunLabels>();
  labels->labels = {"base"};
  ASSERT_TRUE(source_.item("b").Set<RunLabels>(kTrialKey, labels).ok());
  auto said = std::make_shared<bus::Annotations>();
  said->labels = {"best"};
  said->note = "a plateau\nat the end";
  said->display_name = "The best one";
  ASSERT_TRUE(source_.item("b").Set<bus::Annotations>(kAnnotationsKey, said).ok());
  for (const char* query : {"label:best", "note:plateau", "name:best", "name:^b$"}) {
    const auto page = Page([&](auto* r) { r->query = query; });
    ASSERT_THAT(NamesOf(page), ElementsAre("b")) << query;
    EXPECT_THAT(page->runs[0]->labels, ElementsAre("best"));
    EXPECT_EQ(page->runs[0]->note, "a plateau\nat the end");
    EXPECT_EQ(page->runs[0]->display_name, "The best one");
  }
  for (const char* query : {"label:base", "note:^$", "name:plateau"}) {
    EXPECT_THAT(NamesOf(Page([&](auto* r) { r->query = query; })), IsEmpty()) << query;
  }
}

TEST_F(ListingPagesTest, EveryKnownPluginHasAList) {
  source_.Append(std::string("r") + kFile, Text("note", ""));
  Make({"r"});
  source_.ReadFiles("r", Need::kCounts);
  const auto page = Page([](auto* r) { r->with_plugins = true; });
  ASSERT_EQ(page->runs.size(), 1u);
  const auto& plugins = page->runs[0]->plugins;
  EXPECT_EQ(plugins.size(), eventlog::KnownPlugins().size());
  for (const auto& plugin : plugins) {
    if (plugin->plugin == "scalars") {
      EXPECT_THAT(plugin->tags, ElementsAre("loss"));
    } else if (plugin->plugin == "text") {
      EXPECT_THAT(plugin->tags, ElementsAre("note"));
    } else {
      EXPECT_THAT(plugin->tags, IsEmpty()) << plugin->plugin;
    }
  }
  EXPECT_THAT(Page()->runs[0]->plugins, IsEmpty());
}

TEST(RunMessageTest, ARunIsAsItIsListedAndAsFarAsItWasRead) {
  ListedRun listed;
  listed.name = "exp/1";
  listed.directory = "/logs/exp/1";
  listed.create_us = 5;
  for (const FileKind kind : {FileKind::kTensorBoard, FileKind::kMindSpore,
                              FileKind::kMindSporeLineage, FileKind::kMindSporeGraph}) {
    listed.files.emplace_back().kind = kind;
  }
  listed.profile = ListedProfile{.directory = "profiler", .update_us = 9};
  RunInfo info;
  info.listed = std::make_shared<const ListedRun>(listed);
  info.state = CacheState::kFailed;
  info.why = absl::UnavailableError("no descriptor");
  info.update_us = 7;
  info.generation = 2;
  info.counted = true;
  info.points = 11;
  info.last_step = 4;
  info.start_time = NAN;
  const msg::RunT run = RunMessage(info);
  EXPECT_EQ(run.name, "exp/1");
  EXPECT_EQ(run.directory, "/logs/exp/1");
  EXPECT_EQ(run.base_directory, "/logs");
  EXPECT_EQ(run.create_us, 5);
  EXPECT_EQ(run.update_us, 7);
  EXPECT_EQ(run.summary_files, 2u);
  EXPECT_EQ(run.lineage_files, 1u);
  EXPECT_EQ(run.graph_files, 1u);
  EXPECT_EQ(run.explain_files, 0u);
  EXPECT_EQ(run.profiler_directory, "profiler");
  EXPECT_EQ(run.profiler_type, "ascend");
  EXPECT_EQ(run.profiler_us, 9);
  EXPECT_EQ(run.cache, msg::CacheState::Failed);
  EXPECT_EQ(run.why_failed, "no descriptor");
  EXPECT_EQ(run.generation, 2u);
  EXPECT_EQ(run.last_step, 4);
  EXPECT_TRUE(std::isnan(run.start_time));
}

class RunPagesTest : public ListingPagesTest {
 protected:
  // Calls `page` for the run "r", which was read completely.
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Of(absl::StatusOr<Reply> (*page)(const RunSource::View&, const Request&),
                           const Request& request) {
    absl::StatusOr<Reply> reply = absl::UnknownError("not called");
    source_.ReadFiles("r", Need::kPoints);
    const absl::Status read =
        source_.Read({.run = "r", .need = Need::kPoints}, [&](const RunSource::View& view) {
          reply = page(view, request);
          return absl::OkStatus();
        });
    EXPECT_TRUE(read.ok()) << read;
    return reply;
  }
};

TEST_F(RunPagesTest, ATagIsAllThatItsMetadataSays) {
  source_.Append(std::string("r") + kFile,
                 Scalar(1, "loss", 2) + Scalar(2, "loss", NAN) + Text("note", "what it is"));
  source_.Scan();
  const auto page = Of(&TagsPage, msg::TagsRequestT());
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->tags.size(), 2u);
  const msg::TagT& loss = *page->tags[0];
  EXPECT_EQ(loss.name, "loss");
  EXPECT_EQ(loss.plugin, "scalars");
  EXPECT_EQ(loss.points, 2u);
  EXPECT_EQ(loss.min, 2);
  EXPECT_EQ(loss.not_finite, 1u);
  EXPECT_EQ(loss.topic, "m/r/loss/");
  EXPECT_EQ(loss.first_time, 101);
  EXPECT_EQ(loss.last_time, 102);
  const msg::TagT& note = *page->tags[1];
  EXPECT_EQ(note.plugin, "text");
  EXPECT_EQ(note.display_name, "Note");
  EXPECT_EQ(note.description, "what it is");
  EXPECT_EQ(std::string(note.content.begin(), note.content.end()), "own");
  EXPECT_EQ(note.data_class, msg::DataClass::Tensor);
  EXPECT_EQ(note.points, 1u);
  EXPECT_EQ(note.last_step, 3);
  EXPECT_TRUE(std::isnan(note.min));
  EXPECT_EQ(note.topic, "");
}

TEST_F(RunPagesTest, TagsByPluginByPatternAndPageByPage) {
  source_.Append(std::string("r") + kFile,
                 Scalar(1, "a", 1) + Scalar(1, "b", 1) + Scalar(1, "c", 1) + Text("note", ""));
  source_.Scan();
  const auto names = [&](const std::function<void(msg::TagsRequestT*)>& ask) {
    msg::TagsRequestT request;
    ask(&request);
    const auto page = Of(&TagsPage, request);
    EXPECT_TRUE(page.ok()) << page.status();
    std::string all;
    for (const auto& tag : page->tags) all += tag->name + " ";
    return all + "of " + std::to_string(page->total) +
           (page->next.empty() ? "" : " >" + page->next);
  };
  EXPECT_EQ(names([](auto* r) { r->plugin = "text"; }), "note of 1");
  EXPECT_EQ(names([](auto* r) { r->pattern = "[ac]"; }), "a c of 2");
  EXPECT_EQ(names([](auto* r) { r->limit = 3; }), "a b c of 4 >c");
  EXPECT_EQ(names([](auto* r) {
              r->limit = 3;
              r->after = "c";
            }),
            "note of 4");
  msg::TagsRequestT wrong;
  wrong.pattern = "(";
  EXPECT_EQ(Of(&TagsPage, wrong).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RunPagesTest, NoPageIsLargerThanAMessage) {
  constexpr int kTags = 400;
  std::string bytes;
  for (int tag = 0; tag < kTags; ++tag) {
    bytes += Scalar(1, std::to_string(1000 + tag) + std::string(60'000, 'x'), tag);
  }
  source_.Append(std::string("r") + kFile, bytes);
  source_.Scan();
  msg::TagsRequestT request;
  int tags = 0, pages = 0;
  do {
    const auto page = Of(&TagsPage, request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->total, std::uint64_t{kTags});
    std::size_t names = 0;
    for (const auto& tag : page->tags) names += tag->name.size() + tag->topic.size();
    for (const auto& plugin : page->plugins) {
      for (const std::string& tag : plugin->tags) names += tag.size();
    }
    EXPECT_LT(names, std::size_t{40} << 20);
    for (const auto& tag : page->tags) EXPECT_EQ(tag->min, tags++);
    EXPECT_EQ(page->plugins.empty(), pages > 0);
    request.after = page->next;
    ++pages;
  } while (!request.after.empty());
  EXPECT_EQ(tags, kTags);
  EXPECT_GT(pages, 1);
  // The lists of plugins of two runs.
  source_.Append(std::string("s") + kFile, bytes);
  source_.Scan();
  source_.ReadFiles("r", Need::kCounts);
  source_.ReadFiles("s", Need::kCounts);
  for (const char* name : {"r", "s"}) {
    RunInfo info;
    info.listed = source_.item(name).run();
    info.update_us = name[0] == 'r' ? 2 : 1;
    runs_.push_back(info);
  }
  const auto first = Page([](auto* r) { r->with_plugins = true; });
  EXPECT_THAT(NamesOf(first), ElementsAre("r"));
  EXPECT_THAT(NamesOf(Page([&](auto* r) {
                r->with_plugins = true;
                r->after = first->next;
              })),
              ElementsAre("s"));
  EXPECT_THAT(NamesOf(Page()), ElementsAre("r", "s"));
}

TEST_F(RunPagesTest, PointsOfATag) {
  source_.Append(std::string("r") + kFile, Scalar(1, "x", 1) + Scalar(2, "x", 2) +
                                               Scalar(1, "x", 3) + Scalar(4, "x", 4) +
                                               Text("n", ""));
  source_.Scan();
  const auto ask = [&](const std::function<void(msg::ScalarsRequestT*)>& set) {
    msg::ScalarsRequestT request;
    request.tag = "x";
    set(&request);
    return Of(&ScalarsPage, request);
  };
  const auto all = ask([](auto*) {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->steps, ElementsAre(1, 1, 2, 4));
  EXPECT_THAT(all->values, ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(all->total_points, 4u);
  EXPECT_EQ(all->kept_points, 4u);
  EXPECT_FALSE(all->more);
  const auto last = ask([](auto* r) { r->overlap = msg::Overlap::LastWrite; });
  EXPECT_THAT(last->values, ElementsAre(3, 2, 4));
  EXPECT_EQ(last->total_points, 4u);
  EXPECT_EQ(last->kept_points, 3u);
  const auto some = ask([](auto* r) {
    r->first_point = 1;
    r->limit = 2;
  });
  EXPECT_THAT(some->steps, ElementsAre(1, 2));
  EXPECT_EQ(some->first_point, 1u);
  EXPECT_TRUE(some->more);
  const auto columns = ask([](auto* r) { r->columns = 1; });
  EXPECT_THAT(columns->maxs, ElementsAre(4));
  EXPECT_THAT(columns->counts, ElementsAre(4u));
  const auto none = ask([](auto* r) { r->tag = "n"; });
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("it has x"));
  EXPECT_EQ(ask([](auto* r) { r->overlap = static_cast<msg::Overlap>(77); }).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace datamanager
