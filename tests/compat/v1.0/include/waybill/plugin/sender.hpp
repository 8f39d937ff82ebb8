// The class that a plugin's senders derive from, and the C functions that lead into it without letting an exception out.
#pragma once

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
  // An optional ability by its id: a C table of the extension's header, or null.
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

struct Boxed {
  const wb_host* host;
  std::unique_ptr<Sender> sender;

  static Boxed& of(wb_sender* self) noexcept { return *reinterpret_cast<Boxed*>(self); }
  static void send(wb_sender* self, wb_call call, const wb_job* job) noexcept {
    guarded(of(self).host, call, [&] { of(self).sender->send(Call(of(self).host, call), Job(job)); });
  }
  static void cancel(wb_sender* self, wb_call call) noexcept {
    guarded(of(self).host, call, [&] { of(self).sender->cancel(Call(of(self).host, call)); });
  }
  static const void* get_extension(wb_sender* self, wb_str id) noexcept {
    try {
      return of(self).sender->extension(view(id));
    } catch (...) {
      return nullptr;
    }
  }
  static void destroy(wb_sender* self) noexcept { delete &of(self); }
};

inline constexpr wb_sender_vt kSenderTable = {&Boxed::send, &Boxed::cancel, &Boxed::get_extension, &Boxed::destroy};

template <class S>
wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) noexcept {
  Report problems(report, user);
  try {
    auto boxed = std::make_unique<Boxed>(Boxed{host, std::make_unique<S>(Host(host), view(settings))});
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
