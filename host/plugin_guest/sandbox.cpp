// Gives up what a plugin needs not have: limits, namespaces, capabilities, Landlock and seccomp, in that order.
#include "plugin_guest/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include "plugin_protocol/messages.h"
#include "plugin_protocol/page.h"

namespace waybill::plugin_process {
namespace {

using Missing = std::vector<std::string>;

constexpr auto kInNamespaces = "WAYBILL_IN_NAMESPACES";  // in the environment of a process that began anew in its namespaces

std::string why() { return std::generic_category().message(errno); }

void leave_namespaces(const Isolation& isolation, Missing& missing) {
  const int needed = CLONE_NEWUSER | (isolation.network ? 0 : CLONE_NEWNET);
  // seccomp denies what would reach others by IPC anyway, so a machine that allows no more lacks nothing.
  if (unshare(needed | CLONE_NEWIPC | CLONE_NEWUTS) != 0 && unshare(needed) != 0)
    missing.push_back("no namespaces of its own: " + why());
}

// ---- files ----

// Of the kernel's newest: an older one is told less.
constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;

std::uint64_t file_rights(long abi) {
  std::uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of the first version
  constexpr std::uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kDevices = 1ULL << 15;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kDevices;
  return rights;
}

// What the dynamic loader, libc and interpreters read.
constexpr const char* kRuntime[] = {"/usr/lib",
                                    "/lib",
                                    "/lib64",
                                    "/usr/lib64",
                                    "/usr/local/lib",
                                    "/usr/libexec",
                                    "/usr/share/zoneinfo",
                                    "/usr/share/nodejs",
                                    "/etc/localtime",
                                    "/etc/ld.so.cache",
                                    "/usr/bin/env",
                                    "/dev/null",
                                    "/dev/zero",
                                    "/dev/urandom",
                                    "/proc/self/maps",
                                    "/etc/ssl/openssl.cnf"};

struct RulesetOfNow {  // the layout since version 4 of the interface; shorter for older ones
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

bool allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  landlock_path_beneath_attr rule{};
  rule.parent_fd = fd;
  rule.allowed_access = rights;
  bool ok = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  if (!ok && errno == EINVAL) {  // a file has fewer rights than a folder
    rule.allowed_access = rights & (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE);
    ok = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  }
  close(fd);
  return ok;
}

void close_files(const Isolation& isolation, Missing& missing) {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) {
    missing.push_back("no Landlock, so its files are open to it as to the host's user: " + why());
    return;
  }
  constexpr std::uint64_t kTcp = 3, kScopes = 3;  // bind and connect; abstract sockets and signals
  RulesetOfNow rules{
      .files = file_rights(abi), .network = abi >= 4 && !isolation.network ? kTcp : 0, .scoped = abi >= 6 ? kScopes : 0};
  const std::size_t size = abi >= 6 ? sizeof rules : abi >= 4 ? offsetof(RulesetOfNow, scoped) : offsetof(RulesetOfNow, network);
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0));
  bool ok = ruleset >= 0;
  const auto reading = kReading & rules.files;
  for (const auto* path : kRuntime) ok = ok && allow(ruleset, path, reading);
  if (isolation.network)
    for (const auto* path : {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs",
                             "/usr/share/ca-certificates", "/etc/gai.conf", "/etc/host.conf", "/etc/services"})
      ok = ok && allow(ruleset, path, reading);
  for (const auto& path : isolation.read) ok = ok && allow(ruleset, path.string(), reading);
  ok = ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  if (!ok) missing.push_back("its files could not be closed to it: " + why());
  if (ruleset >= 0) close(ruleset);
}

// ---- limits and privileges ----

// Sanitizers reserve more memory than any plugin may have.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

void limit(int what, rlim_t most, const char* name, Missing& missing) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) == 0 && now.rlim_max < most) most = now.rlim_max;
  const rlimit wanted{most, most};
  if (setrlimit(static_cast<__rlimit_resource_t>(what), &wanted) != 0)
    missing.push_back(std::string("no limit of ") + name + ": " + why());
}

void set_limits(const Isolation& isolation, Missing& missing) {
  if (!kIsSanitized) limit(RLIMIT_DATA, isolation.memory_bytes, "memory", missing);
  limit(RLIMIT_NOFILE, isolation.descriptors, "descriptors", missing);
  limit(RLIMIT_CORE, 0, "core files", missing);
  limit(RLIMIT_FSIZE, kPageBytes, "files", missing);  // the page: languages without mmap write it as a file
  limit(RLIMIT_MSGQUEUE, 0, "message queues", missing);
  limit(RLIMIT_MEMLOCK, 0, "locked memory", missing);
  // Where memory runs out, it goes first.
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    static_cast<void>(!write(fd, "1000", 4));
    close(fd);
  }
}

bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[2] = {};
  return syscall(SYS_capget, &header, own) != 0 || (own[0].permitted | own[1].permitted) != 0;
}

// A filter of the service manager may refuse capset(2). A program that begins has none, unless it is root in its namespace.
bool drop_capabilities(bool is_to_begin_anew) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) == 0 || !has_capabilities()) return true;
  return is_to_begin_anew && geteuid() != 0;
}

void drop_privileges(bool is_to_begin_anew, Missing& missing) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) missing.push_back("it may gain privileges: " + why());
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  if (!drop_capabilities(is_to_begin_anew)) missing.push_back("it keeps capabilities: " + why());
}

// ---- system calls ----

// By number, where this machine's headers may be older than the kernel it runs on.
constexpr long kProcessMrelease = 448, kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kFileSetattr = 469;

// On every machine that this is built for: what reaches other processes, other namespaces, the kernel's settings, memory that is
// not counted, the network past seccomp, or what files are beside their contents, which Landlock does not protect.
constexpr long kForbidden[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_kcmp,
    SYS_process_madvise,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_personality,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_vhangup,
    SYS_sched_setparam,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_get_robust_list,
    kProcessMrelease,
    SYS_fchmod,
    SYS_fchmodat,
    kFchmodat2,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    kSetxattrat,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    kRemovexattrat,
    kFileSetattr,
    SYS_truncate,
    SYS_sync,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_inotify_init,
#endif
};

constexpr long kOfSockets[] = {SYS_socket, SYS_bind, SYS_listen, SYS_connect, SYS_accept, SYS_accept4};

class Filter {
 public:
  Filter() {
#if defined(__x86_64__)
    constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "seccomp: name this machine's AUDIT_ARCH"
#endif
    load(offsetof(seccomp_data, arch));
    jump_unless(kMachine);
    code_.back().jt = 1;
    code_.back().jf = 0;
    give(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    constexpr std::uint32_t kX32 = 0x40000000;
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1));
    give(SECCOMP_RET_KILL_PROCESS);
#endif
  }

  void refuse(long call, int error) {
    if (call < 0) return;
    jump_unless(static_cast<std::uint32_t>(call));
    give(refusal(error));
  }
  // Allowed when `argument` (its lower half) has a bit of `mask`, or equals it.
  void only_with_bit(long call, unsigned argument, std::uint32_t mask, int error) {
    with_argument(call, argument, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 1, 0), error);
  }
  void only_if_equal(long call, unsigned argument, std::uint32_t value, int error) {
    with_argument(call, argument, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0), error);
  }
  void not_if_equal(long call, unsigned argument, std::uint32_t value, int error) {
    with_argument(call, argument, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), error, false);
  }
  void not_with_bit(long call, unsigned argument, std::uint32_t mask, int error) {
    with_argument(call, argument, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1), error, false);
  }
  // Allowed when `argument`, of which only the bits of `mask` count, equals `value`.
  void only_if_masked(long call, unsigned argument, std::uint32_t mask, std::uint32_t value, int error) {
    constexpr std::uint8_t kLength = 5;
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, kLength));
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    give(refusal(error));
    give(SECCOMP_RET_ALLOW);
  }
  // Refused when `argument` is one of the descriptors between a plugin's process and its host.
  void not_with_own(long call, unsigned argument, int error) {
    constexpr std::uint8_t kLength = 5;
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, kLength));
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kStreamDescriptor, 0, 2));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLibraryDescriptor, 1, 0));
    give(refusal(error));
    give(SECCOMP_RET_ALLOW);
  }
  bool install() {
    give(SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  static std::uint32_t refusal(int error) { return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA); }
  void load(std::size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))); }
  void jump_unless(std::uint32_t value) { code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)); }
  void give(std::uint32_t what) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, what)); }
  // `test` goes to the refusal or over it. `is_last`: the call is allowed then; else further rules of it follow.
  void with_argument(long call, unsigned argument, sock_filter test, int error, bool is_last = true) {
    const std::uint8_t length = is_last ? 4 : 3;
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, length));
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    code_.push_back(test);
    give(refusal(error));
    if (is_last)
      give(SECCOMP_RET_ALLOW);
    else
      load(offsetof(seccomp_data, nr));
  }

  std::vector<sock_filter> code_;
};

// To open a file for reading and to empty it by that: Landlock sees it since its third version.
void refuse_emptying(Filter& filter) {
  constexpr long kSeesTruncation = 3;
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= kSeesTruncation) return;
  filter.not_with_bit(SYS_openat, 2, O_TRUNC, EACCES);
  filter.refuse(SYS_openat2, ENOSYS);  // its flags are in memory
#if defined(__x86_64__)
  filter.not_with_bit(SYS_open, 1, O_TRUNC, EACCES);
  filter.refuse(SYS_creat, EACCES);
#endif
}

void close_system_calls(const Isolation& isolation, bool runs_command, Missing& missing) {
  Filter filter;
  for (const auto call : kForbidden) filter.refuse(call, EPERM);
  if (!isolation.network)
    for (const auto call : kOfSockets) filter.refuse(call, EACCES);
  const auto self = static_cast<std::uint32_t>(getpid());
  filter.only_if_equal(SYS_kill, 0, self, EPERM);
  filter.only_if_equal(SYS_tgkill, 0, self, EPERM);
  filter.refuse(SYS_tkill, EPERM);
  filter.only_with_bit(SYS_clone, 0, CLONE_THREAD, EPERM);
  filter.refuse(SYS_clone3, ENOSYS);  // its flags are in memory: libc then takes clone
  for (const auto call : {SYS_prlimit64, SYS_sched_setaffinity}) filter.only_if_equal(call, 0, 0, EPERM);  // of its own
  filter.not_if_equal(SYS_prctl, 0, PR_SET_PDEATHSIG, EPERM);   // it ends with its host
  for (const auto command : {F_SETOWN, F_SETOWN_EX, F_SETSIG})  // signals to whom it likes
    filter.not_if_equal(SYS_fcntl, 1, static_cast<std::uint32_t>(command), EPERM);
  for (const auto command : {FIOSETOWN, SIOCSPGRP}) filter.not_if_equal(SYS_ioctl, 1, command, EPERM);
  if (!isolation.network) {  // datagrams would reach any socket that has a path
    constexpr std::uint32_t kTypeBits = 0xf;
    filter.only_if_masked(SYS_socketpair, 1, kTypeBits, SOCK_STREAM, EACCES);
  }
  refuse_emptying(filter);
#if defined(__x86_64__)
  filter.refuse(SYS_fork, EPERM);
  filter.refuse(SYS_vfork, EPERM);
#endif
  if (!runs_command) {
    filter.refuse(SYS_execve, EPERM);
    filter.refuse(SYS_execveat, EPERM);
    // A plugin that writes to, or closes, what it does not own: ours use none of these.
    for (const auto call : {SYS_write, SYS_writev, SYS_pwrite64, SYS_close}) filter.not_with_own(call, 0, EBADF);
    filter.not_with_own(SYS_dup3, 1, EBADF);
#if defined(__x86_64__)
    filter.not_with_own(SYS_dup2, 1, EBADF);
#endif
    filter.refuse(SYS_close_range, ENOSYS);
  }
  if (!filter.install()) missing.push_back("all system calls are open to it: " + why());
}

}  // namespace

std::vector<std::string> enter_sandbox(const Isolation& isolation, bool runs_command, const std::function<void()>& begin_anew) {
  Missing missing;
  set_limits(isolation, missing);
  const bool has_begun_anew = std::getenv(kInNamespaces) != nullptr;
  unsetenv(kInNamespaces);
  if (!has_begun_anew) leave_namespaces(isolation, missing);
  drop_privileges(runs_command || !has_begun_anew, missing);
  if (!runs_command && !has_begun_anew && has_capabilities()) {
    setenv(kInNamespaces, "1", 1);
    begin_anew();
    unsetenv(kInNamespaces);
    missing.push_back("it keeps capabilities: " + why());
  }
  close_files(isolation, missing);
  close_system_calls(isolation, runs_command, missing);
  return missing;
}

}  // namespace waybill::plugin_process
