#ifndef BUS_ALERT_ALERT_KINDS_H_
#define BUS_ALERT_ALERT_KINDS_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace bus {

// Alert kinds; each is a level of its topics, `a/KIND/NAME/`.
struct AlertKind {
  std::string_view name;
  std::string_view owner;  // Service that raises the alerts.
  // True: the alert notifies a person, unless the yard is configured otherwise, and requires an
  // acknowledgement.
  bool is_urgent = true;
};

inline constexpr std::array<AlertKind, 8> kAlertKinds = {{{"trial_ended", "trainer", false},
                                                          {"trial_failed", "trainer"},
                                                          {"trial_stalled", "trainer"},
                                                          {"metric_not_finite", "trainer"},
                                                          {"metric_threshold", "trainer"},
                                                          {"service_restarted", "launcher"},
                                                          {"disk_low", "launcher"},
                                                          {"gpu_lost", "launcher"}}};

// Returns null for an unknown kind.
inline const AlertKind* FindAlertKind(std::string_view name) {
  const auto found = std::find_if(kAlertKinds.begin(), kAlertKinds.end(),
                                  [&](const AlertKind& kind) { return kind.name == name; });
  return found == kAlertKinds.end() ? nullptr : &*found;
}

}  // namespace bus

#endif  // BUS_ALERT_ALERT_KINDS_H_
