// Whatever a program writes, the parser answers or refuses, and what it accepts it can read again.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/text/json_value.h"
#include "trainer/report/report_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = trainer::ParseReportLine(text);
  if (report.ok() && !trainer::FlattenMetrics(report->metrics).ok()) std::abort();
  const auto json = runtime::ParseJson(text);
  if (!json.ok()) return 0;
  const std::string once = runtime::CompactJson(*json);
  const auto again = runtime::ParseJson(once);
  if (!again.ok() || runtime::CompactJson(*again) != once) std::abort();
  const std::string pretty = runtime::PrettyJson(*json);
  const auto third = runtime::ParseJson(pretty);
  if (!third.ok() || runtime::PrettyJson(*third) != pretty) std::abort();
  return 0;
}
