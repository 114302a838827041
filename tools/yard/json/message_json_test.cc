#include "tools/yard/json/message_json.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class MessageJsonTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = MessageJson::Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    messages_ = *std::move(loaded);
  }

  template <typename Body>
  json Shown(Body body) const {
    msg::EnvelopeT envelope;
    envelope.body.Set(std::move(body));
    return messages_->ToJson(envelope);
  }
  json ShownPayload(const std::string& bytes, const std::string& type) const {
    msg::EnvelopeT envelope;
    envelope.payload.assign(bytes.begin(), bytes.end());
    envelope.payload_type = type;
    return messages_->ToJson(envelope);
  }
  std::string Refused(const std::string& type, const std::string& text) const {
    const auto parsed = messages_->FromJson(type, text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(parsed.status().message());
  }

  std::unique_ptr<MessageJson> messages_;
};

TEST_F(MessageJsonTest, ShowsNestedTablesListsAndEnums) {
  msg::JobsReplyT reply;
  auto job = std::make_unique<msg::JobT>();
  job->id = "j-abcde";
  job->argv = {"python3", "train.py"};
  job->state = msg::TaskState::Running;
  job->created_us = 1'700'000'000'000'000;
  auto task = std::make_unique<msg::TaskT>();
  task->id = "j-abcde/worker-0";
  job->tasks.push_back(std::move(task));
  reply.jobs.push_back(std::move(job));
  const json shown = Shown(std::move(reply));
  const json& first = shown["jobs"][0];
  EXPECT_EQ(first["id"], "j-abcde");
  EXPECT_EQ(first["argv"], json({"python3", "train.py"}));
  EXPECT_EQ(first["state"], "running");
  EXPECT_EQ(first["created_us"], 1'700'000'000'000'000);
  EXPECT_EQ(first["stop_requested"], false);
  EXPECT_EQ(first["name"], "");
  EXPECT_EQ(first["tasks"][0]["id"], "j-abcde/worker-0");
  EXPECT_EQ(first["tasks"][0]["attempts"], json::array());
}

TEST_F(MessageJsonTest, StatesAreReadByTheirWordsAndByTheSchemasNames) {
  const auto read = [&](const std::string& type, const std::string& text) {
    const auto envelope = messages_->FromJson(type, text);
    EXPECT_TRUE(envelope.ok()) << envelope.status();
    return envelope.ok() ? messages_->ToJson(*envelope) : json();
  };
  EXPECT_EQ(read("TrialEvent", R"({"trial": {"state": "done"}})")["trial"]["state"], "done");
  EXPECT_EQ(read("TrialEvent", R"({trial: {state: Done}})")["trial"]["state"], "done");
  EXPECT_EQ(
      read("JobEvent",
           R"({job: {state: done, tasks: [{state: "lost"}, {state: 'Lost'}]}})")["job"]["tasks"],
      read("JobEvent",
           R"({job: {state: Exited, tasks: [{state: Lost}, {state: Lost}]}})")["job"]["tasks"]);
  const json stages =
      read("SweepEvent",
           R"({trials: [{stage: "stopped early"}, {stage: "stopped"}, {stage: waiting}]})");
  EXPECT_EQ(stages["trials"][0]["stage"], "stopped early");
  EXPECT_EQ(stages["trials"][1]["stage"], "stopped");
  EXPECT_EQ(stages["trials"][2]["stage"], "waiting");
  EXPECT_THAT(Refused("TrialEvent", R"({"trial": {"state": "asleep"}})"),
              HasSubstr("state is TrialState: pending, running, stopping, done"));
}

TEST_F(MessageJsonTest, NumbersThatJsonLacksAreStrings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  msg::PointsT points;
  points.values = {0.5, std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  points.steps = {1, 9'007'199'254'740'992, 9'007'199'254'740'993,
                  std::numeric_limits<std::int64_t>::min()};
  const json shown = Shown(std::move(points));
  EXPECT_EQ(shown["values"], json({0.5, "NaN", "Infinity", "-Infinity"}));
  EXPECT_EQ(shown["steps"],
            json({1, 9'007'199'254'740'992, "9007199254740993", "-9223372036854775808"}));
}

TEST_F(MessageJsonTest, UnsignedNumbersStayUnsigned) {
  msg::WatchRequestT request;
  request.from_revision = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Shown(std::move(request))["from_revision"], "18446744073709551615");
}

TEST_F(MessageJsonTest, BytesAreTextWhereTheyAreText) {
  msg::LogsReplyT reply;
  reply.data = {'h', 'i', '\n'};
  EXPECT_EQ(Shown(reply)["data"], "hi\n");
  reply.data = {0xFF, 0x00};
  EXPECT_EQ(Shown(reply)["data"], json({{"base64", "/wA="}}));
  reply.data.clear();
  EXPECT_EQ(Shown(reply)["data"], "");
}

TEST_F(MessageJsonTest, InvalidTextIsRepaired) {
  msg::JobsRequestT request;
  request.job =
      "a\xFF"
      "b\xC3\xA4\xE2\x82";
  const json shown = Shown(std::move(request));
  EXPECT_EQ(shown["job"], "a\uFFFDbä\uFFFD\uFFFD");
  EXPECT_NO_THROW((void)shown.dump());
}

TEST_F(MessageJsonTest, EveryBodyCanBeShown) {
  for (const msg::Body body : msg::EnumValuesBody()) {
    if (body == msg::Body::NONE) continue;
    const auto made = messages_->FromJson(msg::EnumNameBody(body), "{}");
    ASSERT_TRUE(made.ok()) << msg::EnumNameBody(body) << ": " << made.status();
    EXPECT_EQ(made->body.type, body);
    EXPECT_TRUE(messages_->ToJson(*made).is_object());
  }
}

TEST_F(MessageJsonTest, AJsonPayloadIsShownAsJson) {
  EXPECT_EQ(ShownPayload(R"({"text": "hi"})", "application/json"),
            json({{"payload", {{"text", "hi"}}}, {"payload_type", "application/json"}}));
}

TEST_F(MessageJsonTest, SoAreIntegersOfAJsonPayload) {
  EXPECT_EQ(ShownPayload(R"({"n": [9007199254740993, 36893488147419103232, 1]})",
                         "application/json")["payload"]["n"],
            json({"9007199254740993", "36893488147419103232", 1}));
}

TEST_F(MessageJsonTest, APayloadThatIsNoJsonIsShownAsText) {
  EXPECT_EQ(ShownPayload("{oops", "application/json")["payload"], "{oops");
  EXPECT_EQ(ShownPayload("[1]", "text/plain")["payload"], "[1]");
  EXPECT_EQ(ShownPayload("\xFF", "application/json")["payload"], json({{"base64", "/w=="}}));
}

TEST_F(MessageJsonTest, ADeepPayloadStaysText) {
  const std::string deep(200'000, '[');
  EXPECT_EQ(ShownPayload(deep, "application/json")["payload"], deep);
  const std::string closed = std::string(50'000, '[') + std::string(50'000, ']');
  EXPECT_EQ(ShownPayload(closed, "application/json")["payload"], closed);
}

TEST_F(MessageJsonTest, ReadsRelaxedJson) {
  const auto made = messages_->FromJson(
      "LaunchRequest",
      "{spec: {argv: ['a', \"b\",], restart: OnFailure, max_restarts: 3,},} // the end");
  ASSERT_TRUE(made.ok()) << made.status();
  const msg::JobSpecT& spec = *made->body.AsLaunchRequest()->spec;
  EXPECT_THAT(spec.argv, ElementsAre("a", "b"));
  EXPECT_EQ(spec.restart, msg::RestartPolicy::OnFailure);
  EXPECT_EQ(spec.max_restarts, 3U);
}

TEST_F(MessageJsonTest, LeavesDefaultsOfTheSchema) {
  const auto made = messages_->FromJson("LogsRequest", "{}");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->body.AsLogsRequest()->last_lines, -1);
}

TEST_F(MessageJsonTest, ReadsBigNumbersFromStrings) {
  const auto made =
      messages_->FromJson("WatchRequest", R"({"from_revision": "18446744073709551615"})");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->body.AsWatchRequest()->from_revision, std::numeric_limits<std::uint64_t>::max());
}

TEST_F(MessageJsonTest, ReadsBackWhatItShows) {
  msg::PointsT points;
  points.run = "a \"b\"\n";
  points.values = {0.1, std::numeric_limits<double>::infinity()};
  points.steps = {-1, std::numeric_limits<std::int64_t>::max()};
  const json shown = Shown(points);
  const auto read = messages_->FromJson("Points", shown.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(messages_->ToJson(*read), shown);
}

TEST_F(MessageJsonTest, AnUnknownFieldIsNamedWithItsPlaceAndTheKnownOnes) {
  EXPECT_EQ(Refused("JobsRequest", "{\"live_only\": true,\n  \"jb\": \"x\"}"),
            "line 2, column 3: unknown field \"jb\"; JobsRequest has job: string, live_only: bool, "
            "environment: EnvironmentView, newest_ended: uint, applied: bool");
  EXPECT_THAT(
      Refused("LaunchRequest", "{spec: {name: \"spec: {\", /* name: */ labels: [{kee: 1}]}}"),
      HasSubstr("column 48: unknown field \"kee\"; KeyValue has key: string, value: string"));
  EXPECT_THAT(Refused("ServicesRequest", "{a: 1}"), HasSubstr("ServicesRequest has none"));
}

TEST_F(MessageJsonTest, WrongValuesAreRefusedWithTheirPlace) {
  EXPECT_THAT(Refused("JobsRequest", "{\n job: 3}"), HasSubstr("line 2, column "));
  EXPECT_THAT(Refused("JobsRequest", "{job: 3}"), HasSubstr("expected string constant"));
  EXPECT_THAT(Refused("StopJobRequest", "{grace_ms: 5000000000}"), HasSubstr("does not fit"));
  EXPECT_THAT(Refused("StopJobRequest", "{grace_ms: 1.5}"), HasSubstr("uint"));
  EXPECT_THAT(Refused("LaunchRequest", "{spec: {restart: Nevr}}"), HasSubstr("Nevr"));
  EXPECT_THAT(Refused("PublishRequest", "{payload: \"abc\"}"), HasSubstr("[104, 105]"));
}

TEST_F(MessageJsonTest, AWrongValueIsToldWhatItsFieldIs) {
  const struct {
    const char* type;
    const char* text;
    const char* says;
  } kCases[] = {
      {"StopJobRequest", "{\n grace_ms: \"soon\"}",
       "line 2, column 17: expected a number; grace_ms is uint"},
      {"StopJobRequest", "{grace_ms: true}", "expected a number; grace_ms is uint"},
      {"StopJobRequest", "{grace_ms: 1.5, job: \"a\"}", "; grace_ms is uint"},
      {"LogsRequest", "{ranks: [1, \"a\"]}", "expected a number; ranks is [uint]"},
      {"JobsRequest", "{live_only: true, job: 3}",
       "expected string constant, found integer constant; job is string"},
      {"JobsRequest", "{environment: Every}",
       "unknown enum value: Every; environment is EnvironmentView: "},
      {"ReadScalarsRequest", "{selection: {runs: \"a\"}}",
       "expected [, found string constant; runs is [string]"},
      {"ReadScalarsRequest", "{columns: 3, selection: 5}", "; selection is Selection"},
      {"PublishRequest", "{payload: \"abc\"}", "payload is [ubyte]: a list of bytes is written"},
      // The requested type determines the member of the message's union.
      {"JobsRequest", "{body_type: \"Event\"}", "line 1, column 2: unknown field \"body_type\""},
  };
  for (const auto& [type, text, says] : kCases) {
    EXPECT_THAT(Refused(type, text), HasSubstr(says)) << text;
  }
  EXPECT_THAT(Refused("JobsRequest", "[]"), EndsWith("expected {, found ["));
  EXPECT_THAT(Refused("JobsRequest", "{job: \"a\""), EndsWith("found the end"));
}

TEST_F(MessageJsonTest, OnlyOneObjectIsTaken) {
  for (const char* text : {"", " ", "[1]", "3", "\"a\"", "{} {}", "{", "{}}",
                           "{job:", "table X { a:int; } root_type X; {a: 1}",
                           "include \"x.fbs\"; {}", "{}, kind: \"Event\"", "{job: \"\xFF\"}"}) {
    Refused("JobsRequest", text);
  }
  EXPECT_THAT(Refused("JobsRequest", std::string("{}\0{", 4)), HasSubstr("zero byte"));
  Refused("JobsRequest", std::string(2 << 20, ' '));
}

TEST_F(MessageJsonTest, DeepNestingIsRefused) {
  Refused("JobsRequest", std::string(100'000, '{'));
  Refused("JobsRequest", "{job: " + std::string(100'000, '['));
  Refused("JobsRequest", "{a: " + std::string(100'000, '[') + std::string(100'000, ']') + "}");
}

TEST_F(MessageJsonTest, AnUnknownTypeIsNotFound) {
  for (const char* type : {"Nope", "Envelope", "Job", "NONE", ""}) {
    EXPECT_EQ(messages_->FromJson(type, "{}").status().code(), absl::StatusCode::kNotFound) << type;
  }
}

TEST_F(MessageJsonTest, DescribesMethodsAsTheSchemaDoes) {
  const auto jobs = messages_->schema().FindMethod("launcher", "Jobs");
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(jobs->info.service, "launcher");
  EXPECT_EQ(jobs->info.name, "Jobs");
  EXPECT_EQ(jobs->info.role, bus::Role::kRead);
  EXPECT_EQ(jobs->info.idempotency, bus::Idempotency::kSafe);
  EXPECT_EQ(jobs->info.default_timeout, absl::Seconds(5));
  EXPECT_FALSE(jobs->info.streaming);
  EXPECT_EQ(jobs->request_type, "JobsRequest");
  EXPECT_EQ(jobs->reply_type, "JobsReply");
  EXPECT_EQ(jobs->comment, "Lists jobs.");
  EXPECT_THAT(jobs->request_fields,
              ElementsAre("job: string", "live_only: bool", "environment: EnvironmentView",
                          "newest_ended: uint", "applied: bool"));

  const auto follow = messages_->schema().FindMethod("trainer", "FollowTrial");
  ASSERT_TRUE(follow.ok()) << follow.status();
  EXPECT_TRUE(follow->info.streaming);
  EXPECT_EQ(follow->info.default_timeout, absl::InfiniteDuration());

  const auto launch = messages_->schema().FindMethod("launcher", "Launch");
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ(launch->info.idempotency, bus::Idempotency::kStored);
  EXPECT_EQ(launch->info.role, bus::Role::kControl);
  EXPECT_THAT(launch->request_fields, ElementsAre("spec: JobSpec"));
}

TEST_F(MessageJsonTest, EveryServiceHasTheCommonMethods) {
  const auto stats = messages_->schema().FindMethod("registry", "Stats");
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->info.service, "");
  const auto shutdown = messages_->schema().FindMethod("trainer", "Shutdown");
  ASSERT_TRUE(shutdown.ok()) << shutdown.status();
  EXPECT_EQ(shutdown->info.role, bus::Role::kAdmin);
}

TEST_F(MessageJsonTest, UnknownServicesAndMethodsNameTheKnownOnes) {
  const auto service = messages_->schema().FindMethod("lancher", "Jobs").status();
  EXPECT_EQ(service.code(), absl::StatusCode::kNotFound);
  for (const char* name : {"registry", "launcher", "datamanager", "trainer"}) {
    EXPECT_THAT(std::string(service.message()), HasSubstr(name));
  }
  EXPECT_THAT(std::string(service.message()), Not(HasSubstr("common")));
  const auto method = messages_->schema().FindMethod("launcher", "Job").status();
  EXPECT_EQ(method.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(method.message()), HasSubstr("Launch, Jobs, StopJob"));
}

}  // namespace
}  // namespace yard
