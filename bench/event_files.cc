#include "bench/event_files.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "runtime/file/file.h"

namespace bench {
namespace {

constexpr double kStart = 1'700'000'000;
constexpr std::size_t kFlushBytes = 1 << 20;
constexpr std::array<std::string_view, 5> kTags = {"train/loss", "train/accuracy", "eval/loss",
                                                   "lr", "grad/norm"};

// Encodes by hand, independent of the code that is measured.
template <typename Number>
void AppendRaw(Number value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void AppendVarint(std::uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}
void AppendMessage(char key, std::string_view content, std::string* out) {
  *out += key;
  AppendVarint(content.size(), out);
  out->append(content);
}

// SummaryMetadata: plugin_data { plugin_name: "scalars" }, data_class: DATA_CLASS_SCALAR.
constexpr std::string_view kMetadata = "\x0A\x09\x0A\x07scalars\x20\x01";
// TensorProto: dtype: DT_FLOAT, tensor_shape {}, float_val: the four bytes that follow it.
constexpr std::string_view kTensor("\x08\x01\x12\x00\x2A\x04", 6);

void AppendScalar(EventFilesOptions::Style style, double wall_time, int step, std::string_view tag,
                  float number, std::string* records) {
  std::string value, summary, event;
  AppendMessage('\x0A', tag, &value);
  if (style == EventFilesOptions::Style::kOld) {
    value += '\x15';
    AppendRaw(number, &value);
  } else {
    std::string tensor(kTensor);
    AppendRaw(number, &tensor);
    AppendMessage('\x42', tensor, &value);
    AppendMessage('\x4A', kMetadata, &value);
  }
  AppendMessage('\x0A', value, &summary);
  event += '\x09';
  AppendRaw(wall_time, &event);
  if (step != 0) {
    event += '\x10';
    AppendVarint(static_cast<std::uint64_t>(step), &event);
  }
  AppendMessage('\x2A', summary, &event);
  eventlog::AppendRecord(event, records);
}

// Appends an event with all values of a step; with empty `tags` the first event, which has the
// version.
void AppendMindSporeEvent(double wall_time, int step, const std::vector<std::string>& tags,
                          const std::vector<float>& numbers, std::string* records) {
  std::string summary, event("\x09");
  AppendRaw(wall_time, &event);
  event += '\x10';
  AppendVarint(static_cast<std::uint64_t>(step), &event);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    std::string value;
    AppendMessage('\x0A', tags[i], &value);
    value += '\x1D';
    AppendRaw(numbers[i], &value);
    AppendMessage('\x0A', value, &summary);
  }
  if (tags.empty()) {
    AppendMessage('\x1A', "MindSpore.Event:1", &event);
  } else {
    AppendMessage('\x2A', summary, &event);
  }
  eventlog::AppendRecord(event, records);
}

absl::Status WriteRun(const std::string& directory, int run, const EventFilesOptions& options,
                      const std::vector<std::string>& tags, std::mt19937& random,
                      EventFilesWritten* written) {
  const std::string path = absl::StrCat(directory, "/", EventFilePath(run, options.style));
  const std::string place = std::filesystem::path(path).parent_path();
  if (absl::Status made = runtime::MakeDirectories(place); !made.ok()) return made;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::uniform_real_distribution<float> uniform(0, 1);
  const bool mindspore = options.style == EventFilesOptions::Style::kMindSpore;
  std::vector<float> numbers(tags.size());
  std::string records;
  if (mindspore) {
    AppendMindSporeEvent(kStart, 0, {}, {}, &records);
  } else {
    records = eventlog::RenderFileHeader(kStart);
  }
  ++written->records;
  for (int step = 0; step < options.steps; ++step) {
    for (float& number : numbers) {
      number = uniform(random);
      if (step == options.spike) number = EventFilesOptions::kSpike;
    }
    written->records += mindspore ? 1 : tags.size();
    written->points += tags.size();
    const double wall_time = kStart + step * 0.1;
    if (mindspore) AppendMindSporeEvent(wall_time, step, tags, numbers, &records);
    for (std::size_t tag = 0; !mindspore && tag < tags.size(); ++tag) {
      AppendScalar(options.style, wall_time + static_cast<double>(tag) * 0.001, step, tags[tag],
                   numbers[tag], &records);
    }
    if (records.size() < kFlushBytes && step + 1 < options.steps) continue;
    file << records;
    written->bytes += records.size();
    records.clear();
  }
  file << records;
  written->bytes += records.size();
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

}  // namespace

std::string EventFilePath(int run, EventFilesOptions::Style style) {
  const std::int64_t start = static_cast<std::int64_t>(kStart) + run;
  const std::string host = absl::StrCat("host", run);
  return absl::StrFormat("run_%03d/", run) +
         (style == EventFilesOptions::Style::kMindSpore
              ? absl::StrCat("bench.out.events.summary.", start, ".", host)
              : eventlog::EventFileName(start, host, 1000 + run, 0));
}

std::string EventFileTag(int number) {
  const std::size_t count = kTags.size();
  const std::string_view name = kTags[static_cast<std::size_t>(number) % count];
  std::string tag(name);
  if (static_cast<std::size_t>(number) >= count) {
    absl::StrAppend(&tag, "/", static_cast<std::size_t>(number) / count);
  }
  return tag;
}

absl::StatusOr<EventFilesWritten> WriteEventFiles(const std::string& directory,
                                                  const EventFilesOptions& options) {
  if (options.runs < 0 || options.steps < 0 || options.tags < 0) {
    return absl::InvalidArgumentError("runs, steps and tags of event files cannot be negative");
  }
  std::vector<std::string> tags;
  for (int tag = 0; tag < options.tags; ++tag) tags.push_back(EventFileTag(tag));
  std::mt19937 random(options.seed);
  EventFilesWritten written;
  for (int run = 0; run < options.runs; ++run) {
    absl::Status status = WriteRun(directory, run, options, tags, random, &written);
    if (!status.ok()) return status;
  }
  return written;
}

}  // namespace bench
