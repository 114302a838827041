#include "bench/peer_comparison.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Formats a value with four digits, "812.3 k", "24.1 M": a noisy machine gives no more.
std::string Short(double value) {
  if (value >= 1e6) return absl::StrFormat("%.2f M", value / 1e6);
  if (value >= 1e4) return absl::StrFormat("%.1f k", value / 1e3);
  return absl::StrFormat("%.1f", value);
}

std::string InWords(const PeerComparison::Limit& limit) {
  switch (limit.kind) {
    case Kind::kNone:
      return "";
    case Kind::kRatioAtLeast:
      return absl::StrFormat("at least %.2f times", limit.bound);
    case Kind::kRatioAtMost:
      return absl::StrFormat("at most %.2f times", limit.bound);
    case Kind::kValueAtLeast:
      return absl::StrCat("at least ", Short(limit.bound));
    case Kind::kValueAtMost:
      return absl::StrCat("at most ", Short(limit.bound));
    case Kind::kAbovePeerAtMost:
      return absl::StrCat("at most ", Short(limit.bound), " more");
  }
  return "";
}

bool MoreIsBetter(Kind kind) { return kind == Kind::kRatioAtLeast || kind == Kind::kValueAtLeast; }

double Best(const std::vector<double>& values, Kind kind) {
  return MoreIsBetter(kind) ? *std::max_element(values.begin(), values.end())
                            : *std::min_element(values.begin(), values.end());
}

// Returns the best case of the figure that the limit applies to; 0 if there are no values.
double BestOf(const std::vector<double>& ours, const std::vector<double>& peers, Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return 0;
    case Kind::kValueAtLeast:
    case Kind::kValueAtMost:
      return Best(ours, kind);
    case Kind::kRatioAtLeast:
    case Kind::kRatioAtMost:
      return peers.empty() ? 0 : Best(ours, kind) / Best(peers, kind);
    case Kind::kAbovePeerAtMost:
      return peers.empty() ? 0 : Best(ours, kind) - Best(peers, kind);
  }
  return 0;
}

// Describes the best case of the value, ratio or difference that the limit applies to.
std::string BestInWords(const PeerComparison::Line& line) {
  switch (line.limit.kind) {
    case Kind::kNone:
      return "";
    case Kind::kRatioAtLeast:
    case Kind::kRatioAtMost:
      return absl::StrFormat("%.2f", line.best);
    case Kind::kValueAtLeast:
    case Kind::kValueAtMost:
    case Kind::kAbovePeerAtMost:
      return Short(line.best);
  }
  return "";
}

}  // namespace

bool PeerComparison::Line::holds() const {
  switch (limit.kind) {
    case Kind::kNone:
      return true;
    case Kind::kRatioAtLeast:
      return ratio >= limit.bound;
    case Kind::kRatioAtMost:
      return ratio <= limit.bound;
    case Kind::kValueAtLeast:
      return ours >= limit.bound;
    case Kind::kValueAtMost:
      return ours <= limit.bound;
    case Kind::kAbovePeerAtMost:
      return ours - peer <= limit.bound;
  }
  return false;
}

void PeerComparison::Add(const std::string& name, Measure measure) {
  measurements_.push_back({name, std::move(measure)});
}

void PeerComparison::Compare(std::string what, std::string unit, std::string ours, std::string peer,
                             Limit limit) {
  Line line;
  line.what = std::move(what);
  line.unit = std::move(unit);
  line.peer_name = std::move(peer);
  line.limit = limit;
  wanted_.push_back({std::move(line), std::move(ours)});
}

absl::StatusOr<std::vector<PeerComparison::Line>> PeerComparison::Run(int rounds,
                                                                      const std::string& only) {
  std::map<std::string, Samples> samples;
  for (int round = 0; round < rounds; ++round) {
    for (const Measurement& measurement : measurements_) {
      if (measurement.name.find(only) == std::string::npos) continue;
      Samples& of = samples[measurement.name];
      const auto value = measurement.measure();
      if (value.ok()) {
        of.values.push_back(*value);
      } else if (absl::IsNotFound(value.status())) {
        of.missing = std::string(value.status().message());
      } else {
        return absl::Status(value.status().code(),
                            absl::StrCat(measurement.name, ": ", value.status().message()));
      }
    }
  }
  std::vector<Line> lines;
  if (only.empty()) {
    for (const Wanted& wanted : wanted_) lines.push_back(Fill(wanted, samples));
  } else {
    for (const auto& [name, of] : samples) {
      Wanted wanted;
      wanted.line.what = wanted.ours = name;
      lines.push_back(Fill(wanted, samples));
    }
  }
  return lines;
}

PeerComparison::Line PeerComparison::Fill(const Wanted& wanted,
                                          const std::map<std::string, Samples>& samples) {
  Line line = wanted.line;
  const Samples& ours = samples.at(wanted.ours);
  line.missing = ours.missing;
  if (!line.missing.empty()) return line;
  line.ours = Median(ours.values);
  line.best = BestOf(ours.values, {}, line.limit.kind);
  if (line.peer_name.empty()) return line;
  const Samples& peer = samples.at(line.peer_name);
  line.missing = peer.missing;
  if (!line.missing.empty()) return line;
  line.peer = Median(peer.values);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.values.size(); ++i) {
    ratios.push_back(ours.values[i] / peer.values[i]);
  }
  line.ratio = Median(std::move(ratios));
  line.best = BestOf(ours.values, peer.values, line.limit.kind);
  return line;
}

std::string AsTable(const std::vector<PeerComparison::Line>& lines) {
  constexpr char kRow[] = "%-34s %-11s %10s   %-26s %10s  %6s  %-20s %10s %s\n";
  std::string table = absl::StrFormat(kRow, "what", "unit", "ours", "peer in the same run",
                                      "peer's", "ratio", "limit", "at best", "");
  for (const PeerComparison::Line& line : lines) {
    const bool has_peer = !line.peer_name.empty() && line.missing.empty();
    absl::StrAppendFormat(&table, kRow, line.what, line.unit,
                          line.ours == 0 && !line.missing.empty() ? "-" : Short(line.ours),
                          line.peer_name, has_peer ? Short(line.peer) : "",
                          has_peer ? absl::StrFormat("%.2f", line.ratio) : "", InWords(line.limit),
                          line.missing.empty() ? BestInWords(line) : "",
                          !line.missing.empty()            ? line.missing
                          : line.limit.kind == Kind::kNone ? ""
                          : line.holds()                   ? "holds"
                                                           : "MISSED");
  }
  return table;
}

std::string AsJson(const std::vector<PeerComparison::Line>& lines, int rounds) {
  nlohmann::json figures = nlohmann::json::array();
  for (const PeerComparison::Line& line : lines) {
    nlohmann::json figure = {{"what", line.what}, {"unit", line.unit}};
    if (line.missing.empty() || line.ours != 0) figure["ours"] = line.ours;
    if (!line.peer_name.empty()) figure["peer_name"] = line.peer_name;
    if (!line.missing.empty()) figure["missing"] = line.missing;
    if (!line.peer_name.empty() && line.missing.empty()) {
      figure["peer"] = line.peer;
      figure["ratio"] = line.ratio;
    }
    if (line.limit.kind != Kind::kNone && line.missing.empty()) {
      figure["limit"] = InWords(line.limit);
      figure["bound"] = line.limit.bound;
      figure["best"] = line.best;
      figure["holds"] = line.holds();
    }
    figures.push_back(std::move(figure));
  }
  return nlohmann::json{{"rounds", rounds}, {"figures", figures}}.dump(2);
}

}  // namespace bench
