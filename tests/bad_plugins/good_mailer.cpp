// Keeps the rules: mails the payload to two recipients, over a relay with a password.
#include <unordered_map>

#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;

class Mailer final : public Sender {
 public:
  Mailer(Host host, std::string_view) : smtp_(host.smtp()) {}

  void send(Call call, Job job) override {
    Message mail;
    mail.relay = "smtp://relay.test:2525";
    mail.user = "waybill";
    mail.password = "relay";
    mail.from = "from@a.test";
    mail.recipients = {"one@b.test", "two@b.test"};
    mail.data = "Subject: test\r\n\r\n" + std::to_string(job.payload().size()) + " bytes\r\n";
    open_[call.id()] = smtp_.submit(call, mail, [this, call](const SmtpReply& reply) {
      open_.erase(call.id());
      call.complete(judge(reply));
    });
  }

  void cancel(Call call) override {
    if (const auto found = open_.find(call.id()); found != open_.end()) smtp_.abort(found->second);
  }

 private:
  static Outcome judge(const SmtpReply& reply) {
    auto outcome = Outcome::transient("not_taken");
    if (reply.taken()) outcome = Outcome::accepted();
    if (reply.error == NetError::none && reply.code / 100 == 5) outcome = Outcome::rejected("refused_by_relay");
    return outcome.reach(reply.reach).code(reply.code).detail(std::string(reply.text));
  }

  Smtp smtp_;
  std::unordered_map<std::uint64_t, SubmissionId> open_;
};

constexpr wb_reason kReasons[] = {permanent("refused_by_relay")};
constexpr auto kMailer = action<Mailer>("good_mailer").reasons(kReasons);
constexpr const wb_action* kActions[] = {kMailer.raw()};
constexpr wb_plugin kPlugin{sizeof(wb_plugin), WB_ABI_MINOR, 1, str("test.good_mailer"), str("1"), 1, kActions};
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
