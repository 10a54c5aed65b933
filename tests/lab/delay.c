/* A switch that takes its time: `delay MS PORT...` carries each Ethernet frame from the port where it arrived to the port
   behind which its target lives (to all others while that is unknown), MS milliseconds later.  The order is kept.
   Offloads must be off on the links: a frame is at most FRAME_MAX bytes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { FRAME_MAX = 1600, WAITING_MAX = 1 << 15, PORTS_MAX = 16, HOSTS_MAX = 64, BATCH = 128, BUFFER_BYTES = 32 << 20 };

typedef struct {
    int64_t due_ns;
    int port, bytes;
    unsigned char data[FRAME_MAX];
} Frame;

static Frame *ring;
static unsigned first, count;
static struct { unsigned char mac[ETH_ALEN]; int port; } hosts[HOSTS_MAX];
static int host_count, port_count;
static struct pollfd ports[PORTS_MAX];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int open_port(const char *name) {
    int one = 1, room = BUFFER_BYTES, made = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(name)};
    if (made < 0 || !where.sll_ifindex || bind(made, (struct sockaddr *)&where, sizeof where)) {
        perror(name);
        exit(1);
    }
    setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    setsockopt(made, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    return made;
}

/* Where a host lives; a port other than -1 is learned. */
static int home_of(const unsigned char *mac, int port) {
    for (int i = 0; i < host_count; i++)
        if (!memcmp(hosts[i].mac, mac, ETH_ALEN)) {
            if (port >= 0) hosts[i].port = port;
            return hosts[i].port;
        }
    if (port >= 0 && host_count < HOSTS_MAX && !(mac[0] & 1)) {
        memcpy(hosts[host_count].mac, mac, ETH_ALEN);
        hosts[host_count++].port = port;
    }
    return -1;
}

static void take(int port, int64_t delay_ns) {
    for (int i = 0; i < BATCH && count < WAITING_MAX; i++) {
        Frame *frame = &ring[(first + count) % WAITING_MAX];
        int bytes = recv(ports[port].fd, frame->data, FRAME_MAX, MSG_TRUNC);
        if (bytes < ETH_HLEN) return;
        if (bytes > FRAME_MAX) continue; /* offloads are on somewhere: such a frame cannot be carried */
        frame->port = port, frame->bytes = bytes, frame->due_ns = now_ns() + delay_ns;
        home_of(frame->data + ETH_ALEN, port);
        count++;
    }
}

static void give(void) {
    int64_t now = now_ns();
    for (; count && ring[first].due_ns <= now; first = (first + 1) % WAITING_MAX, count--) {
        Frame *frame = &ring[first];
        int home = home_of(frame->data, -1);
        for (int port = 0; port < port_count; port++)
            if (port != frame->port && (home < 0 || home == port))
                while (send(ports[port].fd, frame->data, frame->bytes, 0) < 0 && errno == EAGAIN) {}
    }
}

int main(int argc, char **argv) {
    if (argc < 4 || argc - 2 > PORTS_MAX || !(ring = malloc(sizeof(Frame) * WAITING_MAX))) return 2;
    int64_t delay_ns = (int64_t)(atof(argv[1]) * 1e6);
    for (port_count = 0; port_count < argc - 2; port_count++)
        ports[port_count] = (struct pollfd){.fd = open_port(argv[port_count + 2]), .events = POLLIN};
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t wait_ns = count ? ring[first].due_ns - now_ns() : 1000000000LL;
        if (wait_ns < 0) wait_ns = 0;
        struct timespec wait = {wait_ns / 1000000000LL, wait_ns % 1000000000LL};
        if (ppoll(ports, port_count, &wait, NULL) > 0)
            for (int port = 0; port < port_count; port++)
                if (ports[port].revents & POLLIN) take(port, delay_ns);
        give();
    }
}
