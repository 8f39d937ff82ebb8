// Preloaded into the database server: shifts its wall clock by what a shared file says, for all of its processes at one moment.
// Durations (the monotonic clock) stay as they are.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* offset_in_micros;

__attribute__((constructor)) static void open_offset(void) {
  const char* file = getenv("STEPPED_CLOCK_FILE");
  const int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* const mapped = mmap(NULL, sizeof *offset_in_micros, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) offset_in_micros = mapped;
  close(fd);
}

// The bare system call: what the C library has under these names is hidden by ours.
static int64_t now_in_nanos(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec + (offset_in_micros ? *offset_in_micros * 1000LL : 0);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, out);
  const int64_t now = now_in_nanos();
  out->tv_sec = now / 1000000000LL;
  out->tv_nsec = now % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  const int64_t now = now_in_nanos();
  out->tv_sec = now / 1000000000LL;
  out->tv_usec = now % 1000000000LL / 1000;
  return 0;
}

time_t time(time_t* out) {
  const time_t now = now_in_nanos() / 1000000000LL;
  if (out) *out = now;
  return now;
}
