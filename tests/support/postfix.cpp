// Writes the configuration, makes the queue's folders, and runs Postfix's master process as a direct child.
#include "support/postfix.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <stdexcept>

#include "support/world.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;

constexpr auto kRootOnly = "Postfix starts as root only, and the tests do not run as root";
constexpr auto kMaster = "/usr/lib/postfix/sbin/master";

std::pair<uid_t, gid_t> user(const char* name) {
  const passwd* entry = ::getpwnam(name);
  if (entry == nullptr) throw std::runtime_error(std::string("there is no user ") + name);
  return {entry->pw_uid, entry->pw_gid};
}

void make_folder(const fs::path& folder, unsigned mode, std::optional<std::pair<uid_t, gid_t>> owner) {
  fs::create_directory(folder);
  fs::permissions(folder, static_cast<fs::perms>(mode));
  if (owner && ::chown(folder.c_str(), owner->first, owner->second) != 0) throw std::runtime_error("chown failed");
}

// Postfix waits until a file that was just written is two seconds old.
void write_old_file(const fs::path& file, std::string_view text) {
  write_file(file, text);
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(1));
}

// A port of 127.0.0.1 that nobody else gets while the socket lives, though a server of ours may listen on it.
std::pair<Socket, std::uint16_t> reserve_port() {
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(made.fd(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(made.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port for Postfix");
  return {std::move(made), ntohs(address.sin_port)};
}

std::optional<Socket> connection_to(std::uint16_t port) {
  try {
    return Socket::connect(port);
  } catch (const std::runtime_error&) {
    return std::nullopt;  // nobody listens
  }
}

bool greets(std::uint16_t port) {
  auto socket = connection_to(port);
  return socket && socket->receive(kBound).value_or("").starts_with("220 ");
}

}  // namespace

std::optional<std::string> Postfix::impossible() {
  if (::geteuid() == 0 || must_run()) return std::nullopt;
  return kRootOnly;
}

Postfix::Postfix(std::vector<std::string> mailboxes) {
  if (::geteuid() != 0) throw std::runtime_error(kRootOnly);
  if (!fs::exists(kMaster)) throw std::runtime_error("Postfix is not installed; ./dev deps does that");
  std::tie(door_, port_) = reserve_port();
  make_queue();
  write_configuration(mailboxes);
  start();
}

Postfix::~Postfix() {
  end();
  if (::testing::Test::HasFailure()) std::cerr << "---- log of Postfix\n" << log() << "----\n";
}

void Postfix::start() {
  const auto errors = folder_.path() / "errors";
  master_ = std::make_unique<Process>(Command{.arguments = {kMaster, "-c", folder_.path() / "etc"},
                                              .environment = {},
                                              .folder = "/",
                                              .err = errors,
                                              .user = std::nullopt,
                                              .signal_if_orphaned = SIGTERM});  // it ends its services too
  const bool up = eventually([&] { return !master_->running() || greets(port_); });
  if (!up || !master_->running()) throw std::runtime_error("Postfix did not start: " + read_file(errors) + log());
}

void Postfix::stop() {
  if (!end()) throw std::runtime_error("Postfix did not stop");
}

// The master leads a process group that its services are in. They are not our children, and they listen until they are gone.
bool Postfix::end() {
  if (!master_) return true;
  ::kill(-master_->pid(), SIGKILL);
  master_.reset();
  return eventually([&] { return !connection_to(port_); });
}

std::vector<std::string> Postfix::mailbox(const std::string& address) const {
  std::vector<fs::directory_entry> files;
  std::error_code none_yet;
  for (const auto& entry : fs::directory_iterator(folder_.path() / "mail" / address / "new", none_yet)) files.push_back(entry);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.last_write_time() < b.last_write_time(); });
  std::vector<std::string> mails;
  for (const auto& file : files) mails.push_back(read_file(file));
  return mails;
}

bool Postfix::wait_for_mails(const std::string& address, std::size_t least) const {
  return eventually([&] { return mailbox(address).size() >= least; });
}

void Postfix::make_queue() const {
  const auto postfix = user("postfix");
  const auto queue = folder_.path() / "queue";
  make_folder(folder_.path() / "etc", 0755, std::nullopt);
  make_folder(folder_.path() / "data", 0700, postfix);
  make_folder(folder_.path() / "mail", 0755, user("nobody"));
  make_folder(queue, 0755, std::nullopt);
  make_folder(queue / "pid", 0755, std::nullopt);
  for (const auto* name :
       {"active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private", "saved", "trace"})
    make_folder(queue / name, 0700, postfix);
  make_folder(queue / "maildrop", 0730, postfix);
  make_folder(queue / "public", 0710, postfix);
}

void Postfix::write_configuration(const std::vector<std::string>& mailboxes) const {
  const auto folder = folder_.path().string();
  const auto nobody = user("nobody");
  std::string table;
  std::set<std::string> domains;
  for (const auto& address : mailboxes) {
    table += address + " " + address + "/\n";  // the slash makes it a maildir
    domains.insert(address.substr(address.rfind('@') + 1));
  }
  write_old_file(folder_.path() / "etc/mailboxes", table);

  std::string main = R"(compatibility_level = 3.6
myhostname = relay.test
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtp_dns_support_level = disabled
smtpd_peername_lookup = no
default_transport = error:nothing leaves this machine
relay_transport = error:nothing leaves this machine
smtpd_relay_restrictions = reject_unauth_destination
virtual_minimum_uid = 1
virtual_mailbox_limit = 0
notify_classes =
)";
  main += "queue_directory = " + folder + "/queue\n";
  main += "data_directory = " + folder + "/data\n";
  main += "meta_directory = " + folder + "/etc\n";
  main += "maillog_file = " + folder + "/log\n";
  main += "maillog_file_prefixes = " + folder + "\n";
  main += "smtpd_recipient_restrictions = check_policy_service inet:127.0.0.1:" + std::to_string(policy_.port()) + "\n";
  main += "virtual_mailbox_base = " + folder + "/mail\n";
  main += "virtual_mailbox_maps = texthash:" + folder + "/etc/mailboxes\n";
  main += "virtual_uid_maps = static:" + std::to_string(nobody.first) + "\n";
  main += "virtual_gid_maps = static:" + std::to_string(nobody.second) + "\n";
  main += "virtual_mailbox_domains =";
  for (const auto& domain : domains) main += " " + domain;
  write_old_file(folder_.path() / "etc/main.cf", main + "\n");

  // service type private unprivileged chroot wakeup maxproc command
  write_old_file(folder_.path() / "etc/master.cf", "127.0.0.1:" + std::to_string(port_) + R"( inet n - n - - smtpd
cleanup unix  n - n -    0 cleanup
qmgr    unix  n - n 300  1 qmgr
rewrite unix  - - n -    - trivial-rewrite
bounce  unix  - - n -    0 bounce
defer   unix  - - n -    0 bounce
trace   unix  - - n -    0 bounce
error   unix  - - n -    - error
retry   unix  - - n -    - error
virtual unix  - n n -    - virtual
anvil   unix  - - n -    1 anvil
postlog unix-dgram n - n - 1 postlogd
)");
}

}  // namespace waybill::testing
