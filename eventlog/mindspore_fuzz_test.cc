// Feeds arbitrary bytes as a MindSpore event and as each lineage message: each is read or refused,
// every view lies inside the bytes, and all JSON is valid.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "eventlog/event.h"
#include "eventlog/mindspore_event.h"

namespace {

using eventlog::LineageKind;

void MustBeInside(std::string_view part, std::string_view whole) {
  if (part.data() == nullptr) return;
  const std::less_equal<const char*> not_after;
  const char* end = whole.data() + whole.size();
  if (!not_after(whole.data(), part.data()) || !not_after(part.data() + part.size(), end)) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static eventlog::Event event;
  if (eventlog::DecodeMindSporeEvent(bytes, &event).ok()) {
    MustBeInside(event.file_version, bytes);
    MustBeInside(event.bytes, bytes);
    for (const eventlog::SummaryValue& value : event.values) {
      MustBeInside(value.tag, bytes);
      MustBeInside(value.bytes, bytes);
      (void)eventlog::MindSporeTag(value);
    }
  }
  if (const auto lineage = eventlog::DecodeLineageEvent(bytes); lineage.ok()) {
    MustBeInside(lineage->file_version, bytes);
    MustBeInside(lineage->bytes, bytes);
    (void)eventlog::LineageJson(lineage->kind, lineage->bytes);
  }
  for (const LineageKind kind : {LineageKind::kTrain, LineageKind::kEvaluation,
                                 LineageKind::kDataset, LineageKind::kUserDefined}) {
    const auto json = eventlog::LineageJson(kind, bytes);
    if (json.ok() && !nlohmann::json::accept(*json)) abort();
  }
  return 0;
}
