// Writes and dumps event files, for tests with TensorBoard's own readers and writers.
//
//   event_tool write FILE          100 steps of two tags, and one tag with odd steps and values
//   event_tool dump FILE           scalars: "STEP TAG VALUE" a line
//   event_tool places FILE         other values: "KIND PLUGIN TAG OFFSET LENGTH" a line; of an
//                                  event that is no summary "KIND WRITER STATUS OFFSET LENGTH"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/event_file_writer.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/record_scan.h"
#include "eventlog/scalar_scan.h"
#include "eventlog/tag_table.h"

namespace {

int Write(const std::string& path) {
  std::string records = eventlog::RenderFileHeader(1700000000);
  for (int step = 0; step < 100; ++step) {
    const std::vector<eventlog::Scalar> scalars = {
        {"loss", 1.0 / (step + 1)},
        {"train/accuracy", step == 50 ? std::numeric_limits<double>::infinity() : step * 0.25}};
    records += eventlog::RenderScalars(1700000000.5 + step, step, scalars);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<std::int64_t, double> odd[] = {{-3, std::nan("")},
                                                 {-2, -infinity},
                                                 {0, 1e300},
                                                 {1, 1e-300},
                                                 {(std::int64_t{1} << 53) + 1, -0.0}};
  for (const auto& [step, value] : odd) {
    const eventlog::Scalar scalar{"odd/\xC3\xA9t\xC3\xA9", value};
    records += eventlog::RenderScalars(1700000200.25, step, {&scalar, 1});
  }
  auto writer = eventlog::EventFileWriter::Open(path);
  const absl::Status status = writer.ok() ? writer->Append(records) : writer.status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

using OnEvent = std::function<void(const eventlog::ScannedEvent& scanned)>;

int Read(const std::string& path, const OnEvent& on_event) {
  eventlog::TagTable tags;
  eventlog::ScalarScan scan(&tags);
  eventlog::FilePosition position;
  eventlog::FileFaults faults;
  eventlog::ReadBuffer buffer;
  const eventlog::FileScanResult result =
      eventlog::ScanFile(path, {}, &position, &buffer, &faults,
                         [&](eventlog::RecordChunk chunk, const eventlog::RecordLimits& limits,
                             eventlog::RecordPosition* where, eventlog::FileFaults* found) {
                           return scan.Read(chunk, limits, where, found, on_event);
                         });
  if (!result.status.ok()) std::fprintf(stderr, "%s\n", result.status.ToString().c_str());
  using eventlog::FaultKind;
  for (const FaultKind kind : {FaultKind::kBadPayload, FaultKind::kBadLength, FaultKind::kTooLong,
                               FaultKind::kNotAnEvent}) {
    if (faults.Of(kind).count > 0) return 1;
  }
  return result.status.ok() ? 0 : 1;
}

void DumpScalars(const eventlog::ScannedEvent& scanned) {
  const eventlog::Event& event = scanned.event();
  for (const auto& value : event.values) {
    if (!value.scalar.has_value()) continue;
    std::printf("%lld %.*s %.9g\n", static_cast<long long>(event.step),
                static_cast<int>(value.tag.size()), value.tag.data(), *value.scalar);
  }
}

void PrintPlace(int kind, std::string_view first, std::string_view second, std::uint64_t offset,
                std::size_t length) {
  std::printf("%d %.*s %.*s %llu %zu\n", kind, static_cast<int>(first.size()), first.data(),
              static_cast<int>(second.size()), second.data(),
              static_cast<unsigned long long>(offset), length);
}

void DumpPlaces(const eventlog::ScannedEvent& scanned) {
  const eventlog::Event& event = scanned.event();
  if (event.kind != eventlog::EventKind::kSummary) {
    const std::string status = std::to_string(static_cast<int>(event.session_status));
    PrintPlace(static_cast<int>(event.kind), event.writer.empty() ? "-" : event.writer, status,
               event.bytes.empty() ? 0 : scanned.OffsetOf(event.bytes), event.bytes.size());
  }
  for (const auto& value : event.values) {
    if (value.scalar.has_value()) continue;
    PrintPlace(static_cast<int>(value.kind), value.plugin.empty() ? "-" : value.plugin, value.tag,
               scanned.OffsetOf(value.bytes), value.bytes.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() == 3 && args[1] == "write") return Write(args[2]);
  if (args.size() == 3 && args[1] == "dump") return Read(args[2], DumpScalars);
  if (args.size() == 3 && args[1] == "places") return Read(args[2], DumpPlaces);
  std::fprintf(stderr, "usage: event_tool write|dump|places FILE\n");
  return 2;
}
