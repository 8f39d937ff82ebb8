// Starting and stopping the private server with PostgreSQL's own programs.
#include "store/pg/embedded_postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

namespace waybill {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxSocketFolderLength = 80;  // a socket's whole path has room for 107 bytes

// Who runs the server: we ourselves, or, if we are root, the owner of its folder, because PostgreSQL refuses to run as root.
// Owners are never changed: whoever the folder belonged to before a command was run as root can still use it after.
struct ServerUser {
  bool other = false;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::string name_of(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry ? std::string(entry->pw_name) : std::to_string(uid);
}

// Of the first of these that is there: the cluster, its folder, the folders above it.
std::optional<struct stat> owner_of(const fs::path& folder) {
  struct stat facts {};
  if (stat((folder / "data").c_str(), &facts) == 0) return facts;
  for (auto at = folder;; at = at.parent_path()) {
    if (stat(at.c_str(), &facts) == 0) return facts;
    if (at == at.parent_path()) return std::nullopt;
  }
}

Result<ServerUser> server_user(const fs::path& folder) {
  const auto owner = owner_of(folder);
  const bool is_there = access(folder.c_str(), F_OK) == 0;
  if (geteuid() != 0) {
    const bool is_ours = !owner || owner->st_uid == geteuid() || access((is_there ? folder / "data" : folder).c_str(), F_OK) != 0;
    if (is_ours && (!is_there || access(folder.c_str(), W_OK) == 0)) return ServerUser{};
    return fail(Error::Kind::invalid, "database.embedded: " + folder.string() + " belongs to user " + name_of(owner->st_uid) +
                                          ": run this as that user (sudo -u " + name_of(owner->st_uid) + " waybill ...)");
  }
  if (owner && owner->st_uid != 0) return ServerUser{true, owner->st_uid, owner->st_gid};
  if (is_there)
    return fail(
        Error::Kind::invalid,
        "database.embedded: " + folder.string() +
            " belongs to root, as whom PostgreSQL does not run: give it to the user that shall run the host (chown), or name a "
            "folder that is not there yet");
  const passwd* entry = getpwnam("postgres");
  if (!entry)
    return fail(Error::Kind::invalid,
                "database.embedded: run as root this needs a user postgres, and there is none; install the package postgresql");
  return ServerUser{true, entry->pw_uid, entry->pw_gid};
}

// In a child: what it may do from here on is what the server's user may.
bool become(const ServerUser& user) {
  return !user.other || (setgroups(0, nullptr) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0);
}

// Runs a program to its end as the server's user; its output goes to `output`. The exit status, or -1.
int run(const ServerUser& user, const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (!become(user) || chdir("/") != 0) _exit(126);
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (out < 0 || in < 0) _exit(126);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string last_lines(const fs::path& file) {
  std::ifstream in(file);
  std::string line, text;
  std::vector<std::string> lines;
  while (std::getline(in, line)) lines.push_back(line);
  for (std::size_t i = lines.size() > 5 ? lines.size() - 5 : 0; i < lines.size(); ++i)
    text += (text.empty() ? "" : " | ") + lines[i];
  return text;
}

// The folder of initdb and pg_ctl: of the version that made the cluster, else the newest installed.
Result<fs::path> find_programs(const fs::path& data) {
  std::ifstream version_file(data / "PG_VERSION");
  std::string version;
  std::vector<fs::path> candidates;
  if (std::getline(version_file, version)) candidates = {fs::path("/usr/lib/postgresql") / version / "bin"};
  std::error_code ignored;
  if (version.empty()) {
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) candidates.push_back(entry.path() / "bin");
    std::sort(candidates.begin(), candidates.end(), [](const fs::path& a, const fs::path& b) {
      return std::atoi(a.parent_path().filename().c_str()) > std::atoi(b.parent_path().filename().c_str());
    });
  }
  for (const auto& folder : candidates)
    if (access((folder / "pg_ctl").c_str(), X_OK) == 0 && access((folder / "initdb").c_str(), X_OK) == 0) return folder;
  return fail(Error::Kind::invalid, version.empty()
                                        ? "database.embedded: no PostgreSQL server is installed; install the package postgresql"
                                        : "database.embedded: " + data.string() + " was made by PostgreSQL " + version +
                                              ", which is not installed; install the package postgresql-" + version);
}

Result<void> make_folder(const fs::path& folder, const ServerUser& user) {
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) return fail(Error::Kind::invalid, "database.embedded: cannot make " + folder.string() + ": " + error.message());
  if (!user.other) return {};
  if (is_new && chown(folder.c_str(), user.uid, user.gid) != 0)
    return fail(Error::Kind::invalid, "database.embedded: cannot give the new folder " + folder.string() + " to user " +
                                          name_of(user.uid) + ": " + std::strerror(errno));
  if (run(user, {"/usr/bin/test", "-w", folder.string()}, "/dev/null") != 0)
    return fail(Error::Kind::invalid, "database.embedded: user " + name_of(user.uid) +
                                          ", who has to run the server because we are root, cannot write to " + folder.string() +
                                          "; choose a folder whose parents others may enter, such as one under /var/lib");
  return {};
}

// A new file is its folder's owner's, so that he can use it as well. -1 with errno.
int open_lock(const fs::path& file) {
  const int made = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return open(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  struct stat facts {};
  if (geteuid() != 0 || (stat(file.parent_path().c_str(), &facts) == 0 && fchown(made, facts.st_uid, facts.st_gid) == 0))
    return made;
  close(made);
  return -1;
}

// Waits, in a process of its own, until nobody uses the folder any more, however they ended, and stops the server then. One for
// each folder: whoever comes later finds watch.lock taken. It is a shell with flock(1), so that it holds nothing of this process.
void watch_over(const fs::path& folder, const fs::path& programs, const ServerUser& user) {
  static constexpr char kScript[] = "flock 8 && exec \"$0\" stop -w -m fast -s -D \"$1\"";
  const auto pg_ctl = programs / "pg_ctl", data = folder / "data";
  const int watch = open_lock(folder / "watch.lock"), use = open_lock(folder / "use.lock");
  const pid_t child = watch < 0 || use < 0 ? -1 : fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (flock(watch, LOCK_EX | LOCK_NB) != 0 || nothing < 0 || setsid() < 0 || fork() != 0) _exit(0);
    const int first = fcntl(watch, F_DUPFD, 20), second = fcntl(use, F_DUPFD, 20);  // out of the way of the numbers below
    for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
    dup2(second, 8);
    dup2(first, 9);
    syscall(SYS_close_range, 10U, ~0U, 0U);
    for (int fd = 3; fd < 8; ++fd) close(fd);
    if (!become(user) || chdir("/") != 0) _exit(126);
    execl("/bin/sh", "sh", "-c", kScript, pg_ctl.c_str(), data.c_str(), nullptr);
    _exit(127);
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  for (const int fd : {watch, use})
    if (fd >= 0) close(fd);
}

// Unix socket paths are short: a deep folder gets its sockets in /tmp, in a folder of its own named after it.
Result<fs::path> socket_folder(const fs::path& folder, const ServerUser& user) {
  if (folder.string().size() <= kMaxSocketFolderLength) return folder;
  const fs::path place = "/tmp/waybill-" + std::to_string(std::hash<std::string>{}(folder.string()));
  if (mkdir(place.c_str(), 0700) == 0 && user.other && chown(place.c_str(), user.uid, user.gid) != 0)
    return fail(Error::Kind::invalid, "database.embedded: cannot give " + place.string() + " to user postgres");
  struct stat facts {};
  const uid_t owner = user.other ? user.uid : geteuid();
  if (lstat(place.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != owner || (facts.st_mode & 077) != 0)
    return fail(Error::Kind::invalid, "database.embedded: " + place.string() + ", meant for the sockets of " + folder.string() +
                                          ", belongs to somebody else");
  return place;
}

// Made aside and renamed, so that a half-made cluster is never taken for a whole one.
Result<void> make_cluster(const fs::path& folder, const fs::path& programs, const fs::path& sockets, const ServerUser& user) {
  const fs::path data = folder / "data", fresh = folder / "data.new", log = folder / "initdb.log";
  if (fs::exists(data / "PG_VERSION")) return {};
  std::error_code error;
  fs::remove_all(fresh, error);
  fs::remove(log, error);
  const std::vector<std::string> initdb{programs / "initdb", "-D", fresh,  "-U",        "waybill",
                                        "--auth=trust",      "-E", "UTF8", "--locale=C"};
  if (run(user, initdb, log) != 0) return fail(Error::Kind::unavailable, "database.embedded: initdb failed: " + last_lines(log));
  std::ofstream(fresh / "postgresql.conf", std::ios::app)
      << "\n# Set by waybill when it made this cluster\nlisten_addresses = ''\nunix_socket_directories = '" << sockets.string()
      << "'\nunix_socket_permissions = 0700\nmax_connections = 100\n"
      << "shared_buffers = 256MB\nmax_wal_size = 4GB\n";
  fs::rename(fresh, data, error);
  if (error) return fail(Error::Kind::unavailable, "database.embedded: cannot finish " + data.string() + ": " + error.message());
  return {};
}

}  // namespace

Result<EmbeddedPostgres::Lock> EmbeddedPostgres::Lock::take(const fs::path& file, int kind) {
  Lock lock;
  lock.descriptor_ = open_lock(file);
  if (lock.descriptor_ < 0 || flock(lock.descriptor_, kind) != 0)
    return fail(Error::Kind::invalid, "database.embedded: cannot lock " + file.string() + ": " + std::strerror(errno));
  return lock;
}

EmbeddedPostgres::Lock::~Lock() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool EmbeddedPostgres::Lock::become_exclusive() { return flock(descriptor_, LOCK_EX | LOCK_NB) == 0; }
void EmbeddedPostgres::Lock::become_shared() { static_cast<void>(flock(descriptor_, LOCK_SH)); }

bool EmbeddedPostgres::is_in(const fs::path& folder) {
  std::error_code unseen;
  return fs::exists(folder / "data" / "PG_VERSION", unseen) || unseen;  // what cannot be seen: start() says why
}

Result<std::unique_ptr<EmbeddedPostgres>> EmbeddedPostgres::start(const fs::path& given, Log& log) {
  const fs::path folder = fs::absolute(given).lexically_normal();
  const fs::path data = folder / "data", server_log = folder / "postgresql.log", control_log = folder / "pg_ctl.log";
  const auto user = server_user(folder);
  TRY(user);
  TRY(make_folder(folder, *user));
  const auto programs = find_programs(data);
  TRY(programs);
  const auto sockets = socket_folder(folder, *user);
  TRY(sockets);

  const auto turn = Lock::take(folder / "turn.lock", LOCK_EX);  // starting and stopping: one process at a time
  TRY(turn);
  auto use = Lock::take(folder / "use.lock", LOCK_SH);
  TRY(use);
  TRY(make_cluster(folder, *programs, *sockets, *user));
  if (run(*user, {*programs / "pg_ctl", "status", "-D", data}, "/dev/null") == 0) {
    log.info("database.embedded.reused", {{"folder", folder.string()}});
  } else {
    std::error_code ignored;
    fs::remove(control_log, ignored);
    if (run(*user, {*programs / "pg_ctl", "start", "-w", "-t", "120", "-s", "-D", data, "-l", server_log}, control_log) != 0)
      return fail(Error::Kind::unavailable,
                  "database.embedded: the server does not start: " + last_lines(control_log) + " | " + last_lines(server_log));
    log.info("database.embedded.started", {{"folder", folder.string()}});
  }
  watch_over(folder, *programs, *user);
  return std::unique_ptr<EmbeddedPostgres>(new EmbeddedPostgres(
      folder, *programs, "host=" + sockets->string() + " user=waybill dbname=postgres", std::move(*use), log));
}

EmbeddedPostgres::EmbeddedPostgres(fs::path folder, fs::path programs, std::string url, Lock use, Log& log)
    : folder_(std::move(folder)), programs_(std::move(programs)), url_(std::move(url)), use_(std::move(use)), log_(log) {}

EmbeddedPostgres::~EmbeddedPostgres() {
  const auto turn = Lock::take(folder_ / "turn.lock", LOCK_EX);
  const auto user = server_user(folder_);
  if (!turn || !user) return;
  if (!use_.become_exclusive()) {  // somebody else still uses it, or its watcher came first: then this waits until it is done
    use_.become_shared();
    if (run(*user, {programs_ / "pg_ctl", "status", "-D", folder_ / "data"}, "/dev/null") == 0) return;
  } else if (run(*user, {programs_ / "pg_ctl", "stop", "-w", "-m", "fast", "-s", "-D", folder_ / "data"}, "/dev/null") != 0) {
    return;
  }
  log_.info("database.embedded.stopped", {{"folder", folder_.string()}});
}

}  // namespace waybill
