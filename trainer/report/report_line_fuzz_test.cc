// The parser accepts or refuses whatever a program writes, and accepted metrics can be parsed
// again.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trainer/report/report_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = trainer::ParseReportLine(text);
  if (report.ok() && !trainer::FlattenMetrics(report->metrics).ok()) std::abort();
  return 0;
}
