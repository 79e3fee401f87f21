// An STS and S3 that answers every request after a fixed delay: HTTP/1.1, kept
// connections, one thread, any number of requests waiting at once.
//
// Usage: slow_upstream PORT DELAY-MILLISECONDS STS-ANSWER-FILE S3-ANSWER-FILE
//
// POST gets the STS answer, PUT the S3 one. `GET /peak` is answered at once:
// {"inFlight":N,"peak":N,"requests":N,"posts":N}, the peak and the counts since
// the last `GET /peak`; posts are the calls of STS.
// `GET /expire/SECONDS` too; then the STS answer's credentials end that many
// seconds from now, all at the same time.
// `GET /hold/N` too; then no request is answered until N are waiting at once,
// or until ten seconds have passed over the first. That shows how many requests
// the client can have open: the delay alone shows only its rate × the delay.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { input_size = 16384, answer_size = 8192, events_per_turn = 1024 };

// One client connection. It is freed only when no answer is due for it.
typedef struct connection {
    int descriptor;                 // -1 once the client has gone
    bool waiting;                   // one request at a time; the rest stays in `input`
    bool queued;
    bool copy;                      // the waiting request is a PUT (S3), not a POST (STS)
    size_t filled;
    long long due;                  // nanoseconds, monotonic
    struct connection *next;        // in the queue
    char input[input_size];
} connection;

typedef struct {
    char bytes[answer_size];
    size_t length;
} fixed_answer;

static fixed_answer sts_answer, s3_answer;
static connection *first, *last;    // all delays are equal: due times are in order
static long long delay;
static long in_flight, peak, requests, posts;
static long hold;                   // answer nothing before so many are waiting; 0: no hold
static const long long longest_hold = 10000000000LL;
static int epoll;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Reads an XML file and puts a complete HTTP answer around it.
static void load(fixed_answer *answer, const char *path) {
    char xml[answer_size / 2];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    size_t length = fread(xml, 1, sizeof xml, file);
    fclose(file);
    answer->length = (size_t)snprintf(answer->bytes, sizeof answer->bytes,
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %zu\r\n"
        "x-amzn-RequestId: 00000000-0000-0000-0000-000000000000\r\n\r\n%.*s",
        length, (int)length, xml);
}

static void hang_up(connection *client) {
    if (client->descriptor >= 0) {
        close(client->descriptor);
        client->descriptor = -1;
    }
    if (!client->queued) {
        free(client);
    }
}

// Answers are small and the client is waiting for them: they always fit the socket's buffer.
static bool put(connection *client, const char *bytes, size_t length) {
    return send(client->descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
}

static bool put_peak(connection *client) {
    char text[256], json[128];
    int length = snprintf(json, sizeof json, "{\"inFlight\":%ld,\"peak\":%ld,\"requests\":%ld,\"posts\":%ld}\n",
                          in_flight, peak, requests, posts);
    int total = snprintf(text, sizeof text,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, json);
    peak = in_flight;
    requests = posts = 0;
    return put(client, text, (size_t)total);
}

// The expiration has a fixed length, so it is written over the one that is there.
static void expire(long seconds) {
    char *place = memmem(sts_answer.bytes, sts_answer.length, "<Expiration>", 12), text[32];
    time_t end = time(NULL) + seconds;
    if (place != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&end)) == 20) {
        memcpy(place + 12, text, 20);
    }
}

// The length of the first complete request in `input`, 0 when it is not complete, -1 when it cannot be.
static ssize_t request_length(const connection *client) {
    const char *end = memmem(client->input, client->filled, "\r\n\r\n", 4);
    if (end == NULL) {
        return client->filled == input_size ? -1 : 0;
    }
    size_t length = (size_t)(end - client->input) + 4;
    for (const char *line = client->input; line < end;) {
        const char *next = memmem(line, (size_t)(end + 2 - line), "\r\n", 2) + 2;
        if (strncasecmp(line, "Content-Length:", 15) == 0) {
            long content = strtol(line + 15, NULL, 10);
            if (content < 0 || content > (long)(input_size - length)) {
                return -1;
            }
            length += (size_t)content;
        }
        line = next;
    }
    return length <= client->filled ? (ssize_t)length : 0;
}

static void enqueue(connection *client) {
    client->waiting = client->queued = true;
    client->due = now() + delay;
    client->next = NULL;
    if (last == NULL) {
        first = client;
    } else {
        last->next = client;
    }
    last = client;
    requests++;
    if (++in_flight > peak) {
        peak = in_flight;
    }
}

// Takes the next request out of `input`, if one is complete. False: hang up.
static bool take_request(connection *client) {
    while (!client->waiting) {
        ssize_t length = request_length(client);
        if (length <= 0) {
            return length == 0;
        }
        // Any other GET is a worker that asks whether STS is there: it must not begin the count anew.
        bool begins = memcmp(client->input, "GET /hold/", 10) == 0;
        bool expires = memcmp(client->input, "GET /expire/", 12) == 0;
        bool report = begins || expires || memcmp(client->input, "GET /peak ", 10) == 0;
        if (begins) {
            hold = strtol(client->input + 10, NULL, 10);
        }
        if (expires) {
            expire(strtol(client->input + 12, NULL, 10));
        }
        posts += memcmp(client->input, "POST ", 5) == 0;
        client->copy = client->input[1] == 'U';
        client->filled -= (size_t)length;
        memmove(client->input, client->input + length, client->filled);
        if (!report) {
            enqueue(client);
        } else if (!put_peak(client)) {
            return false;
        }
    }
    return true;
}

static void receive(connection *client) {
    size_t room = input_size - client->filled;
    ssize_t count = room == 0 ? 0 : recv(client->descriptor, client->input + client->filled, room, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        hang_up(client);
        return;
    }
    client->filled += (size_t)count;
    if (!take_request(client)) {
        hang_up(client);
    }
}

// When the oldest request is to be answered, if nothing else arrives before.
static long long release_time(void) {
    return hold > in_flight ? first->due + longest_hold : first->due;
}

static void answer_due(void) {
    long long time = now();
    if (first == NULL || time < release_time()) {
        return;
    }
    hold = 0;
    while (first != NULL && first->due <= time) {
        connection *client = first;
        first = client->next;
        if (first == NULL) {
            last = NULL;
        }
        client->waiting = client->queued = false;
        in_flight--;
        const fixed_answer *answer = client->copy ? &s3_answer : &sts_answer;
        if (client->descriptor < 0 || !put(client, answer->bytes, answer->length) || !take_request(client)) {
            hang_up(client);
        }
    }
}

static void accept_all(int listener) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            return;
        }
        int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *client = malloc(sizeof *client);
        if (client == NULL) {
            exit(1);
        }
        memset(client, 0, offsetof(connection, input));
        client->descriptor = descriptor;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
        epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) {
        perror("listen");
        exit(1);
    }
    return listener;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: slow_upstream PORT DELAY-MILLISECONDS STS-ANSWER-FILE S3-ANSWER-FILE\n");
        return 2;
    }
    delay = atoll(arguments[2]) * 1000000LL;
    load(&sts_answer, arguments[3]);
    load(&s3_answer, arguments[4]);
    int listener = listen_on(atoi(arguments[1]));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[events_per_turn];
        long long left = first == NULL ? -1 : release_time() - now();
        int timeout = first == NULL ? -1 : left <= 0 ? 0 : (int)((left + 999999) / 1000000);
        int ready = epoll_wait(epoll, events, events_per_turn, timeout);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL) {
                accept_all(listener);
            } else {
                receive(events[i].data.ptr);
            }
        }
        answer_due();
    }
}
