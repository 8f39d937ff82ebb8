// Preloaded into a host: while a file exists, it has no route to one port. Connections that it has go on.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int connect(int socket, const struct sockaddr* address, socklen_t length) {
  const char* file = getenv("NO_ROUTE_FILE");
  const char* port = getenv("NO_ROUTE_PORT");
  if (file && port && address->sa_family == AF_INET && access(file, F_OK) == 0 &&
      ntohs(((const struct sockaddr_in*)address)->sin_port) == atoi(port)) {
    errno = ENETUNREACH;
    return -1;
  }
  return (int)syscall(SYS_connect, socket, address, length);
}
