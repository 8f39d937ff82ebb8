// Functions of the C ABI that speak to a process, and wait for it.
#include "plugin_bridge/executable_plugin.h"

#include <waybill/conformance.h>
#include <waybill/plugin.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <utility>

#include "base/printing.h"
#include "plugin_library/descriptor_json.h"
#include "plugin_library/plugin_folder.h"
#include "plugin_process/remote_sender.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

using plugin_process::ProcessSpec;
using plugin_process::ReadyProcess;
using plugin_process::RemoteSender;

constexpr Millis kPatience{60'000};  // whoever checks has a shorter one
constexpr std::size_t kMostActions = 64;

// The plugin of this process.
struct Executable {
  PluginFolder folder;
  std::unique_ptr<CDescriptor> descriptor;
  std::deque<ReadyProcess> idle{};  // that wait for their next sender

  Result<ReadyProcess> take_process() {
    if (!idle.empty()) {
      auto ready = std::move(idle.front());
      idle.pop_front();
      return ready;
    }
    ProcessSpec spec{.plugin = folder.folder.filename(), .command = folder.command, .folder = folder.folder, .isolation = {}};
    spec.isolation.read = folder.read;
    return plugin_process::start_process(spec, kPatience);
  }
  void give_back(ReadyProcess ready) {
    if (ready.lives_again) idle.push_back(std::move(ready));
  }
};
std::unique_ptr<Executable> executable;

// A sender that lives in a process. What its process does wrong is thrown where the plugin was entered.
class Sender final : public plugin_process::RemoteOwner {
 public:
  Sender(ReadyProcess ready, const wb_host& host)
      : lives_again_(ready.lives_again),
        remote_(
            std::move(ready), [](bool) -> Result<ReadyProcess> { return fail(Error::Kind::unavailable, "there is no other"); },
            true, loop_, host, *this) {}

  RemoteSender& remote() { return remote_; }
  wb_sender* self() { return reinterpret_cast<wb_sender*>(this); }
  static Sender& of(wb_sender* self) { return *reinterpret_cast<Sender*>(self); }

  void settle() {
    if (std::exchange(settling_, true)) return;
    const auto settled = remote_.settle(kPatience);
    settling_ = false;
    if (fault_.empty() && !settled) fault_ = settled.error().what;
    if (!fault_.empty()) throw std::runtime_error(std::exchange(fault_, {}));
  }
  // Its process, if another sender can live there.
  void end(bool was_made) {
    if (!lives_again_) return;
    if (was_made) settle();
    executable->give_back(remote_.give_back());
  }

 private:
  void threw(std::uint64_t) override { fault_ = "its process says that an exception left its code"; }
  void violated(std::string_view how, std::uint64_t) override {
    fault_ = "it breaks a rule of the protocol: " + std::string(how);
  }
  void died(const plugin_process::Exit& exit, std::uint64_t) override { fault_ = "its process " + exit.words(); }
  void cannot_repeat(std::uint64_t) override {}
  void lost(std::string_view why) override { fault_ = why; }
  bool within(std::uint64_t, const std::function<void()>& work) override {
    work();  // the strand waits for the process
    return true;
  }
  void wrote(std::string_view line) override { print_error("%s\n", std::string(line).c_str()); }
  void answered() override { settle(); }

  EventLoop loop_;
  const bool lives_again_;
  std::string fault_;
  bool settling_ = false;
  RemoteSender remote_;
};

// ---- the sender's table, and those of its abilities ----

const wb_sender_vt& inner() { return *RemoteSender::functions(); }
wb_sender* inner(wb_sender* self) { return Sender::of(self).remote().sender(); }

template <class Table>
const Table* inner_ability(wb_sender* self, const char* id) {
  return static_cast<const Table*>(inner().get_extension(inner(self), borrow(id)));
}

void send(wb_sender* self, wb_call call, const wb_job* job) {
  inner().send(inner(self), call, job);
  Sender::of(self).settle();
}
void cancel(wb_sender* self, wb_call call) {
  inner().cancel(inner(self), call);
  Sender::of(self).settle();
}
void compose(wb_sender* self, wb_call call, const wb_job* job) {
  inner_ability<wb_compose>(self, WB_COMPOSE_EXTENSION)->compose(inner(self), call, job);
  Sender::of(self).settle();
}
void status(wb_sender* self, wb_call call, const wb_job* job) {
  inner_ability<wb_status>(self, WB_STATUS_EXTENSION)->status(inner(self), call, job);
  Sender::of(self).settle();
}
void probe(wb_sender* self, wb_call call, const wb_job* job) {
  inner_ability<wb_probe>(self, WB_PROBE_EXTENSION)->probe(inner(self), call, job);
  Sender::of(self).settle();
}
void list(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) {
  inner_ability<wb_failures>(self, WB_FAILURES_EXTENSION)->list(inner(self), call, job, query);
  Sender::of(self).settle();
}
void ended(wb_sender* self, wb_call call) {
  Sender::of(self).remote().end(call.id);
  Sender::of(self).settle();
}
const void* get_extension(wb_sender* self, wb_str id) {
  static constexpr wb_compose composes{&compose};
  static constexpr wb_status tells{&status};
  static constexpr wb_probe probes{&probe};
  static constexpr wb_failures lists{&list};
  static constexpr conformance::EndedExtension ends{&ended};
  if (view_of(id) == conformance::kEndedExtension) return &ends;
  if (inner().get_extension(inner(self), id) == nullptr) return nullptr;
  const auto name = view_of(id);
  if (name == WB_COMPOSE_EXTENSION) return &composes;
  if (name == WB_STATUS_EXTENSION) return &tells;
  if (name == WB_PROBE_EXTENSION) return &probes;
  return &lists;
}
void destroy(wb_sender* self) {
  const std::unique_ptr<Sender> sender(&Sender::of(self));
  inner().destroy(inner(self));
  sender->end(true);
}
constexpr wb_sender_vt kFunctions{&send, &cancel, &get_extension, &destroy};

// ---- the functions of an action, one set for each ----

std::string_view type_of(std::size_t nth) { return view_of(executable->descriptor->actions[nth].type); }

wb_sender* create(std::size_t nth, const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
  auto ready = executable->take_process();
  if (!ready) {
    report(user, borrow(""), borrow(ready.error().what));
    return nullptr;
  }
  auto sender = std::make_unique<Sender>(std::move(*ready), *host);
  if (const auto created = sender->remote().create(type_of(nth), view_of(settings), kPatience); !created) {
    report(user, borrow(""), borrow(created.error().what));
    if (created.error().kind == Error::Kind::invalid) sender->end(false);
    return nullptr;
  }
  sender->remote().attach();
  *vt = &kFunctions;
  return sender.release()->self();
}

std::int32_t validate(std::size_t nth, std::uint32_t what, wb_str json, wb_report report, void* user) {
  auto ready = executable->take_process();
  const auto problems =
      ready ? plugin_process::ask_opinion(*ready, what, type_of(nth), view_of(json), kPatience) : tl::unexpected(ready.error());
  if (!problems) throw std::runtime_error(problems.error().what);
  for (const auto& problem : *problems) report(user, borrow(problem.field), borrow(problem.message));
  executable->give_back(std::move(*ready));
  return static_cast<std::int32_t>(problems->size());
}

struct Functions {
  decltype(wb_action::create) create;
  decltype(wb_action::validate_settings) validate_settings;
  decltype(wb_action::validate_destination) validate_destination;
};

template <std::size_t Nth>
constexpr Functions functions_of() {
  return {
      [](const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
        return create(Nth, host, settings, vt, report, user);
      },
      [](wb_str json, wb_report report, void* user) { return validate(Nth, plugin_process::kSettings, json, report, user); },
      [](wb_str json, wb_report report, void* user) { return validate(Nth, plugin_process::kDestination, json, report, user); }};
}

template <std::size_t... Nth>
constexpr std::array<Functions, sizeof...(Nth)> all_functions(std::index_sequence<Nth...>) {
  return {functions_of<Nth>()...};
}

}  // namespace

Result<const wb_plugin*> open_executable(const std::filesystem::path& path) {
  static constexpr auto kAll = all_functions(std::make_index_sequence<kMostActions>());
  auto folder = read_plugin_folder(path);
  TRY(folder);
  auto descriptor = read_c_descriptor(folder->json);
  TRY(descriptor);
  auto& actions = (*descriptor)->actions;
  if (actions.size() > kMostActions) return fail(Error::Kind::invalid, "it has more than 64 actions");
  for (std::size_t i = 0; i < actions.size(); ++i) {
    actions[i].create = kAll[i].create;
    actions[i].validate_settings = kAll[i].validate_settings;
    actions[i].validate_destination = kAll[i].validate_destination;
  }
  executable = std::make_unique<Executable>(Executable{std::move(*folder), std::move(*descriptor)});
  auto first = executable->take_process();
  TRY(first);
  executable->give_back(std::move(*first));
  return &executable->descriptor->plugin;
}

}  // namespace waybill
