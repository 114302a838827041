#include "launcher/node/node_usage.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "launcher/node/words/node_words.h"
#include "launcher/wire/record.h"
#include "runtime/text/printable.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxAttempts = 4096;

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::uint64_t Number(const Record& record, std::string_view key) {
  return static_cast<std::uint64_t>(record.GetNumber(key));
}

std::string Name(const Record& record, std::string_view key) {
  return runtime::Printable(record.Get(key).substr(0, kMaxName));
}

// Figures are encoded in thousandths; NaN is encoded by leaving out the key.
void AddFigure(std::string_view key, double value, Record* record) {
  if (std::isfinite(value)) record->AddNumber(key, std::llround(value * 1000));
}

double Figure(const Record& record, std::string_view key) {
  return record.Has(key) ? static_cast<double>(record.GetNumber(key)) / 1000 : std::nan("");
}

std::string EncodeAttempt(const msg::TaskUsageT& usage) {
  Record record("use");
  record.Add("attempt", usage.task);
  record.AddNumber("cpu_us", Signed(usage.cpu_us));
  record.AddNumber("rss_bytes", Signed(usage.rss_bytes));
  record.AddNumber("processes", usage.processes);
  record.Add("source", usage.source);
  if (usage.io_known) {
    record.AddNumber("read_bytes", Signed(usage.read_bytes));
    record.AddNumber("written_bytes", Signed(usage.written_bytes));
  }
  if (!usage.gpus.empty()) record.Add("gpus", absl::StrJoin(usage.gpus, ","));
  return record.Encode();
}

std::optional<msg::TaskUsageT> DecodeAttempt(const std::string& bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || !IsAttemptKey(record->Get("attempt"))) return std::nullopt;
  msg::TaskUsageT usage;
  usage.task = record->Get("attempt");
  usage.cpu_us = Number(*record, "cpu_us");
  usage.rss_bytes = Number(*record, "rss_bytes");
  usage.processes = static_cast<std::uint32_t>(record->GetNumber("processes"));
  usage.source = Name(*record, "source");
  usage.io_known = record->Has("read_bytes") && record->Has("written_bytes");
  usage.read_bytes = Number(*record, "read_bytes");
  usage.written_bytes = Number(*record, "written_bytes");
  for (const absl::string_view text : absl::StrSplit(record->Get("gpus"), ',', absl::SkipEmpty())) {
    std::uint32_t index = 0;
    const bool is_index = absl::SimpleAtoi(text, &index) && index < NodeUsage::kMaxGpus;
    if (!is_index || usage.gpus.size() >= NodeUsage::kMaxGpus) return std::nullopt;
    usage.gpus.push_back(index);
  }
  return usage;
}

std::string EncodeGpu(const msg::GpuUsageT& gpu) {
  Record record("gpu");
  record.AddNumber("index", gpu.index);
  record.Add("uuid", gpu.uuid);
  record.Add("name", gpu.name);
  AddFigure("utilisation", gpu.utilisation, &record);
  record.AddNumber("memory_bytes", Signed(gpu.memory_bytes));
  record.AddNumber("memory_total_bytes", Signed(gpu.memory_total_bytes));
  AddFigure("temperature", gpu.temperature, &record);
  AddFigure("power", gpu.power, &record);
  return record.Encode();
}

std::optional<msg::GpuUsageT> DecodeGpu(const std::string& bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || Number(*record, "index") >= NodeUsage::kMaxGpus) return std::nullopt;
  msg::GpuUsageT gpu;
  gpu.index = static_cast<std::uint32_t>(record->GetNumber("index"));
  gpu.uuid = Name(*record, "uuid");
  gpu.name = Name(*record, "name");
  gpu.utilisation = Figure(*record, "utilisation");
  gpu.memory_bytes = Number(*record, "memory_bytes");
  gpu.memory_total_bytes = Number(*record, "memory_total_bytes");
  gpu.temperature = Figure(*record, "temperature");
  gpu.power = Figure(*record, "power");
  return gpu;
}

}  // namespace

std::string NodeUsage::Encode() const {
  Record record("usage");
  record.AddNumber("number", Signed(number));
  for (const auto& attempt : attempts) record.Add("use", EncodeAttempt(attempt));
  for (const auto& gpu : gpus) record.Add("gpu", EncodeGpu(gpu));
  return record.Encode();
}

std::optional<NodeUsage> NodeUsage::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "usage") return std::nullopt;
  NodeUsage usage{.number = Number(*record, "number")};
  const auto attempts = record->GetAll("use"), gpus = record->GetAll("gpu");
  if (attempts.size() > kMaxAttempts || gpus.size() > kMaxGpus) return std::nullopt;
  for (const std::string& one : attempts) {
    auto attempt = DecodeAttempt(one);
    if (!attempt) return std::nullopt;
    usage.attempts.push_back(*std::move(attempt));
  }
  for (const std::string& one : gpus) {
    auto gpu = DecodeGpu(one);
    if (!gpu) return std::nullopt;
    usage.gpus.push_back(*std::move(gpu));
  }
  return usage;
}

}  // namespace launcher
