// The class that a plugin's senders derive from, and the C functions that lead into it without letting an exception out.
#pragma once

#include "waybill/plugin/extensions.hpp"
#include "waybill/plugin/host.hpp"

namespace waybill::plugin {

// Constructed with (Host, std::string_view settings), without I/O. Every function is [strand]. Destroyed when none of its
// calls, fetches and timers is open.
class Sender {
 public:
  using Call = plugin::Call;
  using Job = plugin::Job;

  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  // Begin one attempt; complete `call` exactly once, now or later.
  virtual void send(Call call, Job job) = 0;
  // Abort what can be aborted and complete the call soon.
  virtual void cancel(Call call) = 0;
  // An optional ability by its id: a C table, or null. Those of extensions.hpp need no word here: derive from their classes.
  virtual const void* extension(std::string_view /*id*/) { return nullptr; }
};

// Collects what a check finds wrong. `path` is a JSON pointer into the checked value, "" for the whole.
class Report {
 public:
  Report(wb_report report, void* user) noexcept : report_(report), user_(user) {}
  void operator()(std::string_view path, std::string_view message) {
    ++count_;
    if (report_) report_(user_, str(path), str(message));
  }
  std::int32_t count() const noexcept { return count_; }

 private:
  wb_report report_;
  void* user_;
  std::int32_t count_ = 0;
};

using Check = void (*)(std::string_view json, Report& report);

namespace detail {

struct SenderBox {
  const wb_host* host;
  std::unique_ptr<Sender> sender;

  static SenderBox& of(wb_sender* self) noexcept { return *reinterpret_cast<SenderBox*>(self); }
  static void send(wb_sender* self, wb_call call, const wb_job* job) noexcept {
    guarded(of(self).host, call, [&] { of(self).sender->send(Call(of(self).host, call), Job(job)); });
  }
  static void cancel(wb_sender* self, wb_call call) noexcept {
    guarded(of(self).host, call, [&] { of(self).sender->cancel(Call(of(self).host, call)); });
  }
  static const void* get_extension(wb_sender* self, wb_str id) noexcept {
    try {
      if (const void* table = extension_table(self, view(id))) return table;
      return of(self).sender->extension(view(id));
    } catch (...) {
      return nullptr;
    }
  }
  static void destroy(wb_sender* self) noexcept { delete &of(self); }

  template <class Ability>
  static Ability& as(wb_sender* self) {
    return dynamic_cast<Ability&>(*of(self).sender);
  }
  template <class Ability, void (Ability::*ask)(Call, Job)>
  static void call(wb_sender* self, wb_call call, const wb_job* job) noexcept {
    guarded(of(self).host, call, [&] { (as<Ability>(self).*ask)(Call(of(self).host, call), Job(job)); });
  }
  static void list(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) noexcept {
    guarded(of(self).host, call,
            [&] { as<ListsFailures>(self).list_failures(Call(of(self).host, call), Job(job), FailureQuery(query)); });
  }
  // The table of an ability that the sender's class has, else null.
  static const void* extension_table(wb_sender* self, std::string_view id);
};

inline constexpr wb_compose kComposeTable = {&SenderBox::call<Composes, &Composes::compose>};
inline constexpr wb_status kStatusTable = {&SenderBox::call<TellsStatus, &TellsStatus::status>};
inline constexpr wb_probe kProbeTable = {&SenderBox::call<Probes, &Probes::probe>};
inline constexpr wb_failures kFailuresTable = {&SenderBox::list};

inline const void* SenderBox::extension_table(wb_sender* self, std::string_view id) {
  const auto* sender = of(self).sender.get();
  if (id == WB_COMPOSE_EXTENSION && dynamic_cast<const Composes*>(sender)) return &kComposeTable;
  if (id == WB_STATUS_EXTENSION && dynamic_cast<const TellsStatus*>(sender)) return &kStatusTable;
  if (id == WB_PROBE_EXTENSION && dynamic_cast<const Probes*>(sender)) return &kProbeTable;
  if (id == WB_FAILURES_EXTENSION && dynamic_cast<const ListsFailures*>(sender)) return &kFailuresTable;
  return nullptr;
}

inline constexpr wb_sender_vt kSenderTable = {&SenderBox::send, &SenderBox::cancel, &SenderBox::get_extension,
                                              &SenderBox::destroy};

template <class S>
wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) noexcept {
  Report problems(report, user);
  try {
    auto boxed = std::make_unique<SenderBox>(SenderBox{host, std::make_unique<S>(Host(host), view(settings))});
    *vt = &kSenderTable;
    return reinterpret_cast<wb_sender*>(boxed.release());
  } catch (const std::exception& e) {
    problems("", e.what());
  } catch (...) {
    problems("", kForeignException);
  }
  return nullptr;
}

template <Check check>
std::int32_t validate(wb_str json, wb_report report, void* user) noexcept {
  Report problems(report, user);
  try {
    check(view(json), problems);
  } catch (const std::exception& e) {
    problems("", e.what());
  } catch (...) {
    problems("", kForeignException);
  }
  return problems.count();
}

}  // namespace detail
}  // namespace waybill::plugin
