#include "tuning/sample/sobol_sampler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/sobol.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

class SobolSampler : public Sampler {
 public:
  SobolSampler(const Space* space, std::uint64_t seed) : space_(space), seed_(seed) {}
  std::optional<Point> Suggest(std::span<const Observation> /*history*/,
                               std::uint64_t number) const override {
    Point point;
    for (std::size_t i = 0; i < space_->size(); ++i) {
      const Parameter& parameter = (*space_)[i];
      point.push_back(parameter.FromUnit(
          ScrambledSobol(i, static_cast<std::uint32_t>(number), seed_, parameter.name)));
    }
    space_->Deactivate(point);
    return point;
  }

 private:
  const Space* const space_;
  const std::uint64_t seed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeSobolSampler(const Space* space, std::uint64_t seed) {
  if (space->size() > kMostSobolDimensions) {
    return absl::InvalidArgumentError(absl::StrCat("Sobol's sequence is for up to ",
                                                   kMostSobolDimensions,
                                                   " parameters, and there are ", space->size()));
  }
  return std::make_unique<SobolSampler>(space, seed);
}

}  // namespace tuning
