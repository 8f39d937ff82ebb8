// What a host will find behind its targets and relays.
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/json_reader.h"
#include "cli/online_check.h"
#include "services/connect_check.h"
#include "services/gcs_links.h"

namespace waybill {
namespace {

using Level = Finding::Level;
constexpr Millis kAtMost{5'000};  // one question
constexpr std::size_t kThreads = 16;

// Runs all questions, some at a time, and keeps their order.
Findings ask_all(const std::vector<std::function<Finding()>>& questions) {
  Findings findings(questions.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(kThreads, questions.size()); ++i)
    threads.emplace_back([&] {
      for (auto mine = next++; mine < questions.size(); mine = next++) findings[mine] = questions[mine]();
    });
  threads.clear();
  return findings;
}

class OutsideCheck {
 public:
  explicit OutsideCheck(ProviderOptions& asking)
      : asking_(asking),
        policy_(std::make_shared<const EgressPolicy>(asking.config.egress)),
        queries_(*asking.factory, std::min(kAtMost, asking.config.timeouts.attempt)) {}

  Findings run() {
    const auto secrets = Secrets::resolve(asking_.config.secrets, asking_.config.file.string());
    check_link_key(*secrets);
    for (const auto& type : senders()) add_relay(type, *secrets);
    for (const auto& target : asking_.contents.registry->targets()) add_target(target);
    auto answers = ask_all(questions_);
    findings_.insert(findings_.end(), std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end()));
    return std::move(findings_);
  }

 private:
  void check_link_key(const Secrets& secrets) {
    const auto& config = asking_.config;
    if (config.link_key.empty()) return;
    const auto links = make_links(config.link_key, secrets, asking_.clock);
    const auto link = links ? (*links)->link("gs://waybill-check/probe", Seconds(60)) : tl::unexpected(links.error());
    if (link)
      findings_.push_back({Level::ok, "links.key", "signs links to stored objects", ""});
    else
      findings_.push_back(
          {Level::problem, "links.key", link.error().what, "put the service account's JSON file where the secret points"});
  }

  // The action types that are used, or have settings.
  std::set<std::string> senders() const {
    std::set<std::string> types;
    for (const auto& [type, settings] : asking_.config.senders) types.insert(type);
    for (const auto& form : asking_.contents.registry->forms())
      for (const auto& action : form.actions) types.insert(action.action_type);
    return types;
  }

  // Plugins that send mail have settings of these names (plugins/email_raw/README.md).
  void add_relay(const std::string& type, const Secrets& secrets) {
    const auto found = asking_.config.senders.find(type);
    const auto settings =
        found == asking_.config.senders.end() ? Json::object() : read_json(found->second).value_or(Json::object());
    const auto text = [&](const char* name) {
      const auto field = settings.find(name);
      return field != settings.end() && field->is_string() ? field->get<std::string>() : std::string();
    };
    SmtpLogin login{.relay = text("relay"), .user = text("user"), .addresses = {}};
    if (login.relay.empty() && !type.starts_with("email_")) return;
    if (login.relay.empty()) login.relay = "smtp://localhost:25";
    Contract contract;
    contract.action_type = type;
    login.transport = asking_.contents.transports->of(contract);
    const auto tls = text("tls");
    const bool unprotected = login.user.empty() || (login.transport && login.transport->unverified_login);
    login.tls = tls == "required" || !unprotected ? Tls::required : tls == "never" ? Tls::never : Tls::if_offered;
    const auto what = "relay of " + type;
    const auto* password = login.user.empty() ? nullptr : secrets.find(text("password_secret"));
    if (!login.user.empty() && password == nullptr) {
      questions_.push_back([what, login] {
        return Finding{Level::warning, what, login.relay + " was not asked: there is no such secret", "name it under secrets"};
      });
      return;
    }
    if (password != nullptr) login.password = std::make_shared<const Secret>(password->front());
    questions_.push_back([this, what, type, login] {
      const auto tried = try_relay(login, policy_, kAtMost);
      if (tried)
        return Finding{Level::ok, what, login.relay + (login.user.empty() ? " answers" : " answers and takes the login"), ""};
      return Finding{Level::problem, what, login.relay + ": " + tried.error().what,
                     "correct senders." + type + ", or mend the relay (docs/operations/outages.md)"};
    });
  }

  void add_target(const Contract& target) {
    const auto what = "target " + target.target;
    const auto remedy = "correct the target in targets.json, or mend the destination (docs/operations/outages.md)";
    const auto probed = queries_.probe(target);
    if (probed && probed->verdict == Verdict::accepted) {
      findings_.push_back({Level::ok, what, "its plugin can reach it", ""});
      return;
    }
    if (probed || probed.error().kind != Error::Kind::not_found) {
      findings_.push_back({Level::problem, what,
                           probed ? probed->reason + (probed->detail.empty() ? "" : ": " + probed->detail) : probed.error().what,
                           remedy});
      return;
    }
    questions_.push_back([this, what, remedy, url = target.url, transport = asking_.contents.transports->of(target)] {
      if (const auto tried = try_connect(url, transport, *policy_, kAtMost); !tried)
        return Finding{Level::problem, what, "no connection: " + tried.error().what, remedy};
      return Finding{Level::ok, what, url.starts_with("https") ? "connected, and its certificate is good" : "connected", ""};
    });
  }

  ProviderOptions& asking_;
  const std::shared_ptr<const EgressPolicy> policy_;
  DestinationQueries queries_;
  Findings findings_;
  std::vector<std::function<Finding()>> questions_;
};

}  // namespace

Findings check_outside(ProviderOptions& asking) { return OutsideCheck(asking).run(); }

}  // namespace waybill
