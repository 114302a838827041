#include "launcher/job/probe_record.h"

#include <string>

#include "bus/schema/launcher_generated.h"
#include "gtest/gtest.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

msg::ProbeT Probe() {
  msg::ProbeT probe;
  probe.argv = {"test", "-e", "a b\nc"};
  probe.period_ms = 200;
  probe.timeout_ms = 300;
  probe.failures = 4;
  probe.start_delay_ms = 500;
  return probe;
}

TEST(ProbeRecordTest, AProbeIsReadAsItWasWritten) {
  const auto read = DecodeProbe(EncodeProbe(Probe()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->argv, Probe().argv);
  EXPECT_FALSE(read->heartbeat);
  EXPECT_EQ(read->period_ms, 200U);
  EXPECT_EQ(read->timeout_ms, 300U);
  EXPECT_EQ(read->failures, 4U);
  EXPECT_EQ(read->start_delay_ms, 500U);
  msg::ProbeT heartbeat;
  heartbeat.heartbeat = true;
  const auto beat = DecodeProbe(EncodeProbe(heartbeat));
  ASSERT_TRUE(beat);
  EXPECT_TRUE(beat->heartbeat);
  EXPECT_EQ(beat->period_ms, 0U);
}

TEST(ProbeRecordTest, AProbeThatNoSpecMayHaveIsNone) {
  EXPECT_FALSE(DecodeProbe(""));
  EXPECT_FALSE(DecodeProbe(Record("news").Encode()));
  EXPECT_FALSE(DecodeProbe(EncodeProbe({})));
  msg::ProbeT probe = Probe();
  probe.heartbeat = true;  // Two ways at once.
  EXPECT_FALSE(DecodeProbe(EncodeProbe(probe)));
  probe = Probe();
  probe.period_ms = 1;
  EXPECT_FALSE(DecodeProbe(EncodeProbe(probe)));
  probe = Probe();
  probe.argv[0] = "";
  EXPECT_FALSE(DecodeProbe(EncodeProbe(probe)));
  msg::ProbeT elsewhere;
  elsewhere.tcp = "80";
  EXPECT_FALSE(DecodeProbe(EncodeProbe(elsewhere)));
}

}  // namespace
}  // namespace launcher
