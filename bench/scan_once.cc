// Scans event files once, as the data manager does, and sums up the scalars: for a count, or for a
// profiler.
//
//   scan_once FILE...          "RECORDS POINTS FAULTS"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/record_scan.h"
#include "eventlog/scalar_scan.h"
#include "eventlog/tag_table.h"

int main(int argc, char** argv) {
  eventlog::TagTable tags;
  eventlog::ScalarScan scan(&tags);
  eventlog::ReadBuffer buffer;
  std::vector<double> sums;
  std::uint64_t points = 0, faults = 0;
  for (int i = 1; i < argc; ++i) {
    eventlog::FilePosition position;
    eventlog::FileFaults found;
    const auto on_event = [&](const eventlog::ScannedEvent& scanned) {
      sums.resize(tags.size());
      const auto& values = scanned.event().values;
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (!values[k].scalar.has_value()) continue;
        sums[scanned.tags()[k]] += *values[k].scalar;
        ++points;
      }
    };
    const eventlog::FileScanResult result =
        eventlog::ScanFile(argv[i], {}, &position, &buffer, &found,
                           [&](eventlog::RecordChunk chunk, const eventlog::RecordLimits& limits,
                               eventlog::RecordPosition* where, eventlog::FileFaults* wrong) {
                             return scan.Read(chunk, limits, where, wrong, on_event);
                           });
    if (!result.status.ok()) {
      std::fprintf(stderr, "scan_once: %s\n", result.status.ToString().c_str());
      return 1;
    }
    for (const eventlog::Fault& fault : found.all()) faults += fault.count;
  }
  double sum = 0;
  for (const double of_tag : sums) sum += of_tag;
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(scan.events()),
              static_cast<unsigned long long>(points), static_cast<unsigned long long>(faults));
  std::fprintf(stderr, "%zu tags, sum %g\n", tags.size(), sum);
  return 0;
}
