// Preloaded into a host: while a file exists, it has no route to some ports. Connections that it has go on.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* `ports`: numbers with commas between them. */
static int names(const char* ports, int port) {
  for (;;) {
    if (atoi(ports) == port) return 1;
    ports = strchr(ports, ',');
    if (!ports) return 0;
    ++ports;
  }
}

int connect(int socket, const struct sockaddr* address, socklen_t length) {
  const char* file = getenv("NO_ROUTE_FILE");
  const char* ports = getenv("NO_ROUTE_PORT");
  if (file && ports && address->sa_family == AF_INET && access(file, F_OK) == 0 &&
      names(ports, ntohs(((const struct sockaddr_in*)address)->sin_port))) {
    errno = ENETUNREACH;
    return -1;
  }
  return (int)syscall(SYS_connect, socket, address, length);
}
