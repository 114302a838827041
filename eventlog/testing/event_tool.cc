// Writes and dumps event files, for the tests with TensorBoard's own readers and writers.
//
//   event_tool write FILE          100 steps of two tags
//   event_tool dump FILE           "STEP TAG VALUE" a line

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/event_file_reader.h"

namespace {

int Write(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << eventlog::RenderFileHeader(1700000000);
  for (int step = 0; step < 100; ++step) {
    const std::vector<eventlog::Scalar> scalars = {
        {"loss", 1.0 / (step + 1)},
        {"train/accuracy", step == 50 ? std::numeric_limits<double>::infinity() : step * 0.25}};
    file << eventlog::RenderScalars(1700000000.5 + step, step, scalars);
  }
  return file.flush() ? 0 : 1;
}

int Dump(const std::string& path) {
  auto reader = eventlog::EventFileReader::Open(path);
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", reader.status().ToString().c_str());
    return 1;
  }
  const absl::Status read = (*reader)->ReadNew([](const eventlog::Event& event) {
    for (const auto& value : event.values) {
      if (!value.scalar.has_value()) continue;
      std::printf("%lld %.*s %.9g\n", static_cast<long long>(event.step),
                  static_cast<int>(value.tag.size()), value.tag.data(), *value.scalar);
    }
  });
  return read.ok() && (*reader)->bad_records() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() == 3 && args[1] == "write") return Write(args[2]);
  if (args.size() == 3 && args[1] == "dump") return Dump(args[2]);
  std::fprintf(stderr, "usage: event_tool write|dump FILE\n");
  return 2;
}
