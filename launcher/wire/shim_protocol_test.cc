#include "launcher/wire/shim_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "launcher/wire/process_limit.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ShimSpec FullSpec() {
  return {.argv = {"program", "argument"},
          .environment = {"A=b"},
          .working_directory = "/tmp",
          .stdout_path = "/tmp/out",
          .stderr_path = "/tmp/err",
          .control_socket = "/tmp/ctl",
          .task_socket = "/tmp/task",
          .trainer_socket = "/tmp/trainer",
          .nonce = "nonce",
          .no_reports = "rank 2 does not report",
          .log_limit = 1,
          .rotate_bytes = 2,
          .rotate_files = 3,
          .kill_mode = "subreaper",
          .ready_fd = 7,
          .limits = {{"nofile", 1024, 4096}, {"core", 0, ProcessLimit::kUnlimited}},
          .owner = 77,
          .owner_start_ticks = 1ull << 40,
          .owner_stop_signal = 10,
          .owner_stop_grace_ms = 9,
          .control_limits = {.memory_bytes = 4, .milli_cpus = 5, .processes = 6},
          .caller = {.is_known = true,
                     .umask = 002,
                     .nice = -7,
                     .cpus = "0-3,8",
                     .limits = {{"stack", 8, 9}}}};
}

TEST(ShimProtocolTest, ASpecComesBackAsItWas) {
  EXPECT_EQ(ShimSpec::Decode(FullSpec().Encode()), FullSpec());
}

TEST(ShimProtocolTest, ASpecKnowsItsVariables) {
  const ShimSpec spec{.argv = {"x"}, .environment = {"AB=no", "A=1=2", "A=3", "EMPTY="}};
  EXPECT_EQ(spec.Variable("A"), "1=2");
  EXPECT_EQ(spec.Variable("EMPTY"), "");
  EXPECT_EQ(spec.Variable("B"), "");
}

TEST(ShimProtocolTest, ASpecOfAnOldLauncherHasTheDefaults) {
  Record old("spec");
  old.Add("argv", "program");
  const auto spec = ShimSpec::Decode(old.Encode());
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->rotate_bytes, 0u);
  EXPECT_EQ(spec->rotate_files, 1u);
  EXPECT_EQ(spec->no_reports, "");
  EXPECT_EQ(spec->kill_mode, "");
  EXPECT_EQ(spec->ready_fd, 0);
  EXPECT_THAT(spec->limits, IsEmpty());
  EXPECT_EQ(spec->owner, 0);
  EXPECT_EQ(spec->control_limits, ControlLimits{});
  EXPECT_EQ(spec->caller, CallersProcess{});
}

// A newer program may add fields, which this one ignores.
TEST(ShimProtocolTest, FieldsOfANewerVersionAreIgnored) {
  const std::string more = "from_the_future 3\nx\ny\n";
  EXPECT_EQ(ShimSpec::Decode(FullSpec().Encode() + more), FullSpec());
  ShimState state;
  state.ready = true;
  EXPECT_EQ(ShimState::Decode(state.Encode() + more), state);
  const TreeMark mark{.boot = "b", .not_before = 5, .files = {"f"}, .cgroups = {"g", "h"}};
  const auto back = TreeMark::Decode(mark.Encode() + more);
  ASSERT_TRUE(back.has_value());
  EXPECT_THAT(back->cgroups, ElementsAre("g", "h"));
  EXPECT_THAT(back->files, ElementsAre("f"));
  EXPECT_TRUE(ShimRequest::Decode(ShimRequest{}.Encode() + more).has_value());
}

TEST(ShimProtocolTest, AStateOfAnOldShimIsNotReadyAndHasNoKillMode) {
  Record old("state");
  old.Add("phase", "running");
  old.AddNumber("pid", 5);
  const auto state = ShimState::Decode(old.Encode());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->pid, 5);
  EXPECT_FALSE(state->ready);
  EXPECT_EQ(state->kill_mode, "");
  EXPECT_FALSE(state->out_of_memory);
}

TEST(ShimProtocolTest, AStateComesBackAsItWas) {
  const ShimState state{.phase = ShimPhase::kExited,
                        .shim_pid = 1,
                        .pid = 2,
                        .start_ticks = 1ull << 40,
                        .started_us = 1ll << 50,
                        .ended_us = 1ll << 51,
                        .exit_code = 3,
                        .signal = 4,
                        .core_dumped = true,
                        .failure = "a failure",
                        .error_number = 5,
                        .note = "a note\nof two lines",
                        .stdout_begin = 6,
                        .stdout_end = 7,
                        .stderr_begin = 8,
                        .stderr_end = 9,
                        .ready = true,
                        .kill_mode = "cgroup2",
                        .out_of_memory = true,
                        .unasked = true,
                        .spoke_us = 10};
  EXPECT_EQ(ShimState::Decode(state.Encode()), state);
}

TEST(ShimProtocolTest, AMarkOfAnOldShimHasNoControlGroups) {
  Record old("mark");
  old.Add("boot", "b");
  old.Add("file", "pipe:[1]");
  const auto mark = TreeMark::Decode(old.Encode());
  ASSERT_TRUE(mark.has_value());
  EXPECT_THAT(mark->cgroups, IsEmpty());
}

TEST(ShimProtocolTest, ARequestThatIsNotKnownIsNone) {
  Record request("request");
  request.Add("what", "dance");
  EXPECT_FALSE(ShimRequest::Decode(request.Encode()).has_value());
  const auto signal =
      ShimRequest::Decode(ShimRequest{.kind = ShimRequest::Kind::kSignal, .signal = 10}.Encode());
  ASSERT_TRUE(signal.has_value());
  EXPECT_EQ(signal->kind, ShimRequest::Kind::kSignal);
  EXPECT_EQ(signal->signal, 10);
}

TEST(ProcessLimitTest, IsWrittenAndReadAsText) {
  EXPECT_EQ((ProcessLimit{"nofile", 64, 128}).ToString(), "nofile=64:128");
  EXPECT_EQ(ProcessLimit::Parse("nofile=64:128"), (ProcessLimit{"nofile", 64, 128}));
  EXPECT_EQ(ProcessLimit::Parse("core=0"), (ProcessLimit{"core", 0, 0}));
  EXPECT_EQ(ProcessLimit::Parse("core=0:unlimited"),
            (ProcessLimit{"core", 0, ProcessLimit::kUnlimited}));
  for (const char* bad : {"", "nofile", "nofile=", "nofile=x", "nofile=1:", "nofile=-1",
                          "nofile=1:2:3", "nofile=99999999999999999999"}) {
    EXPECT_EQ(ProcessLimit::Parse(bad), std::nullopt) << bad;
  }
}

TEST(ProcessLimitTest, KnowsAllOfThisSystem) {
  EXPECT_EQ(ProcessLimit::Names().size(), static_cast<std::size_t>(RLIM_NLIMITS));
  for (const auto name : ProcessLimit::Names()) {
    EXPECT_GE((ProcessLimit{std::string(name), 0, 0}).resource(), 0) << name;
  }
  EXPECT_EQ((ProcessLimit{"luck", 0, 0}).resource(), -1);
}

}  // namespace
}  // namespace launcher
